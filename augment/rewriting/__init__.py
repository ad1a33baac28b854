"""Language models that rewrite sentences: what they are asked, who answers, and what an answer is worth."""

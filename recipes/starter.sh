#!/bin/sh
# How the bundled starter models are made, from text to the folders in augment/starter.
#   sh recipes/starter.sh DATA BASE
# DATA: a folder with the corpora that starter_text.py names and the evaluation sets.
# BASE: a folder with all-MiniLM-L6-v2 (Apache-2.0), model.safetensors of sha256 53aa5117...8d9db.
set -eu
data=$1
base=$2
work=build/starter

echo "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  $base/model.safetensors" | sha256sum --check

# The text, without any sentence of an evaluation set.
python recipes/starter_text.py --data "$data" --out $work

# English to German and French, the target named by a code before the source. Short sentences come first: from them a
# model this small learns within 1,000 steps which words stand for which. From all text at once, 6 + 2 layers wrote
# fluent sentences that ignored their source even after 3,900 steps.
train marian --parallel $work/short.en-xx.tsv --tokenizer $work/tokenizer --ffn 1024 --epochs 0.27 --decay 0 \
    --save-steps 150 --out $work/aligned-en-xx
# An interrupted run continues with the same command, and with more EPOCHS while its rate has not begun to fall.
long="--warmup-steps 200 --epochs ${EPOCHS:-3} --save-steps 150"
train marian --model $work/aligned-en-xx/model --parallel $work/en-xx.tsv $long --out $work/run-en-xx
# The way back begins with what the way out knows of the words, and also learns to undo what the way out writes.
train marian --model $work/aligned-en-xx/model --parallel $work/short.xx-en.tsv --epochs 0.27 --decay 0 \
    --save-steps 150 --out $work/aligned-xx-en
python recipes/starter_back.py --text $work --model $work/run-en-xx/model
cat $work/xx-en.tsv $work/back.tsv > $work/into-english.tsv
train marian --model $work/aligned-xx-en/model --parallel $work/into-english.tsv $long --out $work/run-xx-en

# A sentence encoder becomes an ordinary masked language model again.
train mlm --encoder "$base" --preset head --epochs 0.5 --text $work/english.txt --out $work/run-encoder

# Into the package, and the figures of the model cards.
python recipes/starter_pack.py --runs $work --out augment/starter
python recipes/starter_scores.py --data "$data" --text $work

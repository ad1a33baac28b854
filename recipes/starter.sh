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

# English to German and French, the target named by a code before the source; then back, with the same vocabulary.
# Each goes on with the same command when it was interrupted, and with more EPOCHS while its rate has not begun to fall.
shape="--vocabulary 12000 --encoder-layers 6 --decoder-layers 2 --ffn 1024 --lr 8e-4 --epochs ${EPOCHS:-3} --save-steps 150"
train marian --parallel $work/en-xx.tsv --out $work/run-en-xx $shape
# The way back also learns to undo what the way out writes.
python recipes/starter_back.py --text $work --model $work/run-en-xx/model
cat $work/xx-en.tsv $work/back.tsv > $work/into-english.tsv
train marian --parallel $work/into-english.tsv --tokenizer $work/run-en-xx/tokenizer --out $work/run-xx-en $shape

# A sentence encoder becomes an ordinary masked language model again.
train mlm --encoder "$base" --preset head --epochs 0.5 --text $work/english.txt --out $work/run-encoder

# Into the package, and the figures of the model cards.
python recipes/starter_pack.py --runs $work --out augment/starter
python recipes/starter_scores.py --data "$data" --text $work

"""What the small translators of the tests know by heart."""

GUITAR, DOGS, COPIED, LOOPING, EMPTY = (
    "A man is playing a guitar.",
    "Two dogs run.",
    "The old woman bought a car.",
    "Stop that now.",
    "The child eats.",
)
GERMAN = {
    GUITAR: "Ein Mann spielt Gitarre.",
    DOGS: "Zwei Hunde rennen.",
    COPIED: COPIED,
    LOOPING: "ja ja ja ja ja ja ja ja ja ja ja ja",
    EMPTY: "",
}
FRENCH = {GUITAR: "Un homme joue de la guitare.", DOGS: "Deux chiens courent."}
PARAPHRASE = "A man plays the guitar."
ENGLISH = {GERMAN[GUITAR]: PARAPHRASE, GERMAN[DOGS]: DOGS, FRENCH[GUITAR]: PARAPHRASE, FRENCH[DOGS]: "Two dogs."}
MARIAN_POSITIONS = 64
MARIAN = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "dropout": 0.0,
    "eos_token_id": 0,
    "forced_eos_token_id": None,
    "scale_embedding": True,
}
"""The configuration of a small MarianMT, but for its vocabulary and lengths."""

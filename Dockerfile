# The image of the service: build with `docker build --tag probity .`; docs/deploy.md says how to run it.
#
# Both stages are Debian 12, so that the program finds the C library that it was linked against. Nothing else is needed at
# run time: SQLite, TLS and its root certificates are part of the program, and `probity health` takes the place of curl.

FROM docker.io/library/rust:1.95-slim-bookworm AS build
# ring and SQLite are compiled from C.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The caches stay out of the layers, so the program is copied out of the target in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --locked --profile dist --package probity-cli \
    && install -D --mode=0755 target/dist/probity /out/usr/bin/probity \
    && install -d --mode=0750 --owner=10001 --group=10001 /out/var/lib/probity

FROM docker.io/library/debian:bookworm-slim
COPY --from=build /out/usr/bin/probity /usr/bin/probity
# The owner has to be said again: COPY gives everything to root.
COPY --from=build --chown=10001:10001 --chmod=0750 /out/var/lib/probity /var/lib/probity
ENV PROBITY_SERVER__DATA=/var/lib/probity \
    PROBITY_SERVER__LISTEN=0.0.0.0:8080 \
    PROBITY_LOG__FORMAT=json
USER 10001:10001
VOLUME /var/lib/probity
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=6s --start-period=10s CMD ["/usr/bin/probity", "health"]
ENTRYPOINT ["/usr/bin/probity"]
CMD ["serve"]

# syntax=docker/dockerfile:1
# The server with its whole command line, built: no compiler, no package manager and no shell in the image. docs/deploying.md
# says how it is run.

FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run package
# Its dependencies as the lock file of the repository has them.
RUN cp package-lock.json build/packages/assay/
RUN cd build/packages/assay && npm install --omit=dev --ignore-scripts --no-audit --no-fund
RUN mkdir -p image/data

FROM gcr.io/distroless/nodejs22-debian12:nonroot
LABEL org.opencontainers.image.title="Assay" org.opencontainers.image.licenses="GPL-3.0-or-later"
WORKDIR /app
COPY --from=build /src/build/packages/assay ./
# All that it writes; everything else may be read-only.
COPY --from=build --chown=65532:65532 /src/image/data /data
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
USER 65532:65532
EXPOSE 8080
VOLUME /data
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["/nodejs/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# As much young garbage as `npm start` allows; docs/scaling.md says why.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=32", "build/cli.js"]
CMD ["serve"]

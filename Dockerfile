# The core on a CPU, as a user without rights:
#   docker build -t failscape .
#   docker run --rm -v "$PWD/runs:/home/hunter/runs" failscape demo
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src ./src
RUN python -m venv /opt/failscape \
    && /opt/failscape/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 hunter
COPY --from=build /opt/failscape /opt/failscape
ENV PATH=/opt/failscape/bin:$PATH
USER hunter
WORKDIR /home/hunter
ENTRYPOINT ["failscape"]
CMD ["--help"]

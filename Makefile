# stevec's one task runner. `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-slow verify verify-analysis torture torture-cluster test-containers \
  test-cloudflare release image image-lock test-image bench flame bench-idle bench-cost bench-dearest bench-crawlers \
  bench-peers bench-pictures bench-import bench-edge fuzz-edge bench-report figures gallery lock

# The tests' Node, one of those in .ci/node; empty: the one on PATH.
NODE = $(STEVEC_NODE)

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

setup: ## install what is missing (quick when nothing is)
	@./stevec setup

demo: ## experiment E1 in its quick form, from nothing to a report
	@./stevec setup -- run read-hot --preset quick --report
	@echo "to browse the wiki with its doors: make up"

up: ## the wiki with all its doors, to browse; then what experiments need
	@./stevec setup -- up

down: ## stop what `make up` started
	@./stevec down

test: ## lint, types and tests of everything, a quarter of an hour; NODE=22 or NODE=24: with that Node
	@./stevec setup --with chromium
	@./stevec setup --with redis
	@./stevec setup --with pandoc
	@.ci/with-node "$(NODE)" node .ci/test.js

test-slow: ## tests in depth; whole experiments, runs that are interrupted, killed and resumed, a study, failover, a full disk, two browsers
	@./stevec setup --with chromium
	@./stevec setup --with faketime
	@./stevec setup --with redis
	@./stevec setup --with helm
	@./stevec setup --with s3
	@.ci/with-node "$(NODE)" node .ci/test.js slow

verify: setup ## the lab measures what is known, to see that it can be trusted
	@./stevec verify

verify-analysis: setup ## simulated runs whose truth is known: how often do verdicts, comparisons and intervals err?
	@PYTHONPATH=analysis .venv/bin/python -m stevec_simulate $(if $(SIMULATIONS),--simulations $(SIMULATIONS))

torture-cluster: setup ## kill, hold up and cut off the parts of a cluster under editing: is any acknowledged edit lost?
	@node loadgen/src/torture/main.js $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED))

torture: setup ## kill -9 of the wiki, of mongod and of both under editing: is any acknowledged edit lost?
	@node wiki-app/torture/main.js $(if $(STRATEGY),--strategy $(STRATEGY)) $(if $(SEED),--seed $(SEED))

test-containers: ## compose.yaml built and run without an engine, as root (minutes)
	@./stevec setup --with containers
	@./stevec setup --with redis
	@node --test --test-timeout=1800000 --test-reporter=spec deploy/test/containers/*.test.js

test-cloudflare: setup ## the doors on a real zone and off again; CLOUDFLARE_TEST_ZONE=example.com and a token
	@node --test-reporter=spec cdn/test/live/cloudflare.js

release: ## the wiki as a tarball and a .deb, in deploy/build; WITH_NODE=1: with a Node of its own
	@./stevec setup
	@$(if $(WITH_NODE),.ci/with-node 24) node deploy/release/bin/release.js $(if $(WITH_NODE),--with-node)

image: ## a card image of the origin for a Banana Pi, as root (arm-image/README.md)
	@./stevec setup --with image
	@node arm-image/bin/build.js $(if $(XZ),--xz)

image-lock: ## today's Debian packages for the image
	@./stevec setup --with image
	@node arm-image/bin/build.js --renew-lock

test-image: ## boot the image in QEMU (minutes)
	@./stevec setup --with image
	@node --test --test-timeout=3600000 --test-reporter=spec loadgen/test/boot/*.test.js

bench: ## the wiki's speed beside a bare server and driver, memory, start; AGAINST=<git ref>: beside another version
	@./stevec setup --with wrk
	@node wiki-app/bench/speed.js $(if $(AGAINST),--against '$(AGAINST)')

flame: setup ## where the time of a page view goes: a flame graph, and the dearest functions; RUN=FOLDER writes it there
	@node wiki-app/bench/flame.js $(if $(RUN),--run '$(RUN)')

bench-idle: setup ## what an idle wiki and its mongod cost
	@node wiki-app/bench/idle.js

bench-cost: setup ## what a request costs against the number of pages and against their size
	@node wiki-app/bench/cost.js

bench-dearest: setup ## how long readers wait beside the costliest anonymous requests
	@node wiki-app/bench/dearest.js

bench-crawlers: setup ## what readers and editors notice of crawlers at ten times the capacity; some 20 minutes
	@node loadgen/bench/crawlers/main.js

bench-peers: setup ## this wiki beside others, those that are installed (node wiki-app/bench/peers.js --help)
	@node wiki-app/bench/peers.js

bench-pictures: setup ## what a view of a picture costs in the database, on disk and in an S3 store
	@./stevec setup --with s3
	@node wiki-app/bench/pictures.js

bench-import: setup ## revisions a second that another wiki is moved in with, and a second run; PAGES=10000
	@node wiki-app/bench/import.js --converter $(or $(CONVERTER),pandoc) $(if $(PAGES),--pages $(PAGES))

bench-edge: setup ## the emulated edge beside nginx's own cache, as ratios; its start after a kill
	@./stevec setup --with wrk
	@node nginx/bench/edge.js
	@node nginx/bench/keys.js
	@node nginx/bench/restart.js
	@node nginx/bench/scan.js

fuzz-edge: setup ## 100 000 pairs of requests through the edge: do two that differ share an answer?
	@node nginx/fuzz/main.js $(if $(CASES),--cases $(CASES))

bench-report: setup ## the report on 10 million samples: seconds and memory
	@node harness/bin/alone.js .venv/bin/python analysis/bench/report.py

lock: setup ## renew the pinned Python packages (npm's: npm update)
	@.venv/bin/pip install --quiet uv
	@.venv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --upgrade analysis/requirements.in -o analysis/requirements.txt

figures: setup ## the pictures of the docs: the architecture, and those of the samples in results/
	@.venv/bin/python analysis/diagrams/architecture.py --output docs/figures/architecture.svg
	@set -e; for figure in read-hot/figure-1.3 read-sparse/sparse-read-times overload/figure-1.4 overload/figure-1.5 \
	  overload/figure-1.6 mixed-write/hit-ratio-by-size write-vs-read-direct/figure-1.7 \
	  write-vs-read-cached/figure-1.8 figure-1.9; do \
	  PYTHONPATH=analysis .venv/bin/python -m stevec_report results/sample --figure $$figure --output docs/figures/$$(basename $$figure).svg; \
	done
	@PYTHONPATH=analysis .venv/bin/python -m stevec_report results/sample-policy --figure freshness-offload --output docs/figures/policy.svg
	@.venv/bin/python analysis/bench/cost.py docs/figures/cost.csv --output docs/figures/cost.svg > /dev/null

gallery: ## the wiki in pictures: a tour of it in a browser, into docs/gallery
	@./stevec setup --with chromium
	@GALLERY=docs/gallery node --test --test-reporter=dot wiki-app/test/browser/tour.test.js

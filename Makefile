# make              builds the man pages and the completions
# make install      installs to DESTDIR and PREFIX; enables and starts nothing
# make keys         after a change of lib/config/keys.list: remakes in the tree what is made from it
#
# make deb          build/ramraid_VERSION_all.deb
# make source       build/source/: the Debian source package
# make dist         build/ramraid-VERSION.tar.gz, for other packages
# make dashboard    checks docs/monitoring/grafana-dashboard.json with Grafana's schema; needs npm
# make packaging    compares the Debian, RPM and Arch packages with "make install"
# make reproducible builds the package again elsewhere and in another way, and compares the bytes
# make piuparts     installs, removes and purges in a chroot; as root or with sudo
# make release      checks whether this tree is ready for a release; prints the steps, does none
#
# make check        lint, unit, model-short and vm; installs its tools through apt ("make tools")
# make lint         shellcheck, shfmt, systemd-analyze verify, lintian, the checks of the tree
# make unit         bats: no root, no kernel
# make model        tests the decision in every history of a model of md; ten minutes; DEPTH=, LEGS=
# make model-short  the same, in a minute
# make fuzz-worlds  tests the decision in random worlds, byte by byte: N=100000 SEED=1 JOBS=; PLANT=
#                   for one planted mistake, "all" for all of them and no random worlds, "none" for
#                   the random worlds alone
# make mutants      plants small faults in lib, one at a time, and checks that a test fails; N=100
#                   SEED=1 FILES=
# make vm           runs the test bench as "make check" does: within an hour, so without the "long"
#                   cases; CASE= and RELEASE=: one case, whole, on one release, which may also be
#                   trixie-backports
# make vm-all       runs every case, whole, on every release; before a release of ramraid
# make vm-shell     boots a machine with a mirror, or with what CASE= has, and opens its console
# make campaign     cuts the power: N=200 SEED=1 RELEASE=trixie JOBS=2; the same command resumes it,
#                   a greater N makes it longer, CUTS="17 18" repeats these
# make clients      the same with PostgreSQL, SQLite, a git server and a maildir on the mirror; N=20
# make suites       runs the tests of other projects: mdadm's own beside a mirror; on one, file
#                   systems under stress-ng, fio, fsx and fsstress: docs/dev/suites.md
# make rounds       copies the RAM leg under a writer, again and again: N= SEED=
#
# make demo         shows the main job in a throw-away virtual machine
# make bench        measures the systems of bench/systems side by side: docs/performance-figures.md;
#                   half an hour or more
# make bench-rebuild  measures the rebuild beside md's own: docs/rebuild-figures.md
# make bench-apps   measures programs after a cold boot, on disks slowed down as the machine is:
#                   docs/apps-figures.md; as root, half an hour or more
# make bench-scale  measures larger mirrors, and more of them: docs/scale-figures.md
# make bench-reads  measures what a read costs, in instructions: docs/dev/reads-figures.md
# make bench-zram   measures the memory that data take as a compressed RAM leg:
#                   docs/compression-figures.md
# make bench-cost   measures what ramraid itself costs: a boot, a status
# make diagrams     draws docs/diagrams/*.svg from *.dot; needs graphviz
# make map          draws docs/diagrams/house.svg: the layers of lib/, from the code; needs graphviz
# make screens      records docs/screens/*.svg: what a terminal shows in a virtual machine
PREFIX ?= /usr
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib/ramraid
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/ramraid
SYSCONFDIR ?= /etc
BASHCOMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
# zsh looks here on Debian; elsewhere the folder is site-functions.
ZSHCOMPLETIONDIR ?= $(PREFIX)/share/zsh/vendor-completions
UNITDIR ?= $(shell pkg-config --variable=systemdsystemunitdir systemd 2>/dev/null || echo $(PREFIX)/lib/systemd/system)
GENERATORDIR ?= $(shell pkg-config --variable=systemdsystemgeneratordir systemd 2>/dev/null || echo $(PREFIX)/lib/systemd/system-generators)
UDEVDIR ?= $(shell pkg-config --variable=udevdir udev 2>/dev/null || echo $(PREFIX)/lib/udev)
# mkinitramfs looks only in these two places.
HOOKDIR ?= $(if $(filter /usr,$(PREFIX)),/usr/share,$(SYSCONFDIR))/initramfs-tools/hooks
# dracut looks only here.
DRACUTDIR ?= $(shell pkg-config --variable=dracutmodulesdir dracut 2>/dev/null || echo /usr/lib/dracut/modules.d)
# The distribution's mdadm looks for further files here, beside its mdadm.conf.
CLAIMDIR ?= /etc/mdadm/mdadm.conf.d

VERSION := $(shell cat lib/VERSION)
MANPAGES := $(patsubst man/%.adoc,build/man/%,$(wildcard man/*.adoc))
COMPLETIONS := build/completion/ramraid build/completion/_ramraid
DEB := build/ramraid_$(VERSION)_all.deb
# What a package is made from, and what a source package needs in addition.
PACKAGED := bin lib units udev etc initramfs dracut man completion generate docs packaging debian Makefile README.md
SOURCES := $(PACKAGED) CHANGELOG.md bench tests .ci .gitignore .shellcheckrc CONTRIBUTING.md LICENSE
export RELEASE CASE LEGS DEPTH N SEED JOBS CUTS PLANT FILES RAM

.DELETE_ON_ERROR:
.PHONY: all install keys deb source dist packaging reproducible piuparts diagrams map release lint unit model model-short fuzz-worlds vm vm-all vm-shell campaign clients \
	mutants rounds suites bench bench-rebuild bench-scale bench-cost bench-reads bench-zram bench-apps dashboard screens check demo tools clean
all: $(MANPAGES) $(COMPLETIONS)

build/man/%: man/%.adoc lib/VERSION
	mkdir -p $(@D)
	asciidoctor --failure-level=WARN -b manpage -a version=$(VERSION) -a reproducible -o $@ $<
build/man/ramraid.conf.5: build/keys.adoc
build/man/ramraid-diagnostics.7: build/diagnostics.adoc
build/keys.adoc: lib/config/keys.list generate/keys
	mkdir -p $(@D)
	generate/keys manual >$@
build/diagnostics.adoc: docs/troubleshooting.md generate/diagnostics generate/diagnostics.awk
	mkdir -p $(@D)
	generate/diagnostics >$@

$(COMPLETIONS): completion/ramraid.bash completion/_ramraid generate/completion generate/verbs generate/keys lib/config/keys.list lib/cmd/help.sh $(wildcard lib/cmd/*.sh lib/cmd/internal/*.sh)
	mkdir -p $(@D)
	generate/completion $(if $(filter _%,$(@F)),zsh,bash) >$@

keys:
	generate/keys write

# Only the two programs know where the libraries are. A page with several names has a link for each
# further one. HOOKDIR or DRACUTDIR is empty where the distribution does not use it.
install: all
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(GENERATORDIR) $(DESTDIR)$(UDEVDIR)/rules.d \
		$(DESTDIR)$(SYSCONFDIR)/ramraid $(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d $(DESTDIR)/var/lib/ramraid $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(MANDIR)/man8 \
		$(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(DOCDIR)/docs/dev $(DESTDIR)$(DOCDIR)/docs/diagrams $(DESTDIR)$(DOCDIR)/docs/screens $(DESTDIR)$(DOCDIR)/docs/performance \
		$(DESTDIR)$(DOCDIR)/docs/monitoring/examples \
		$(DESTDIR)$(BASHCOMPLETIONDIR) $(DESTDIR)$(ZSHCOMPLETIONDIR)
	sed 's|^readonly lib=.*|readonly lib=$(LIBDIR)|' bin/ramraid >$(DESTDIR)$(SBINDIR)/ramraid
	sed 's|^readonly lib=.*|readonly lib=$(LIBDIR)|' units/ramraid-generator >$(DESTDIR)$(GENERATORDIR)/ramraid-generator
	chmod 755 $(DESTDIR)$(SBINDIR)/ramraid $(DESTDIR)$(GENERATORDIR)/ramraid-generator
	install -m 644 lib/VERSION $(DESTDIR)$(LIBDIR)
	cd lib && find . -name '*.sh' -exec install -D -m 644 {} $(DESTDIR)$(LIBDIR)/{} \;
	install -m 755 packaging/before-removal lib/mail lib/impostor $(DESTDIR)$(LIBDIR)
	for unit in units/*.service units/*.path units/*.timer; do \
		sed 's|/usr/sbin/ramraid|$(SBINDIR)/ramraid|' "$$unit" >"$(DESTDIR)$(UNITDIR)/$${unit##*/}" && \
		chmod 644 "$(DESTDIR)$(UNITDIR)/$${unit##*/}" || exit 1; done
	for service in ramraid@ ramraid-monitor@ ramraid-mend@ ramraid-scrub@ ramraid-memory@ ramraid-hotplug ramraid-remember ramraid-selftest ramraid-selftest-clean; do \
		install -D -m 644 units/sandbox.conf "$(DESTDIR)$(UNITDIR)/$$service.service.d/50-sandbox.conf" || exit 1; done
	sed 's|/usr/lib/ramraid/|$(LIBDIR)/|' udev/65-ramraid.rules >$(DESTDIR)$(UDEVDIR)/rules.d/65-ramraid.rules
	chmod 644 $(DESTDIR)$(UDEVDIR)/rules.d/65-ramraid.rules
	install -m 644 etc/ramraid/ramraid.conf $(DESTDIR)$(SYSCONFDIR)/ramraid
	$(if $(HOOKDIR),install -D -m 755 initramfs/hook $(DESTDIR)$(HOOKDIR)/ramraid)
	$(if $(HOOKDIR),install -D -m 755 initramfs/start $(DESTDIR)$(HOOKDIR)/../scripts/local-block/ramraid)
	$(if $(DRACUTDIR),install -D -m 755 -t $(DESTDIR)$(DRACUTDIR)/90ramraid dracut/90ramraid/module-setup.sh dracut/90ramraid/start-root.sh initramfs/start)
	for page in build/man/*.[578]; do \
		to="$(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}"; name=$$(sed -n '1s|^\.so ||p' "$$page"); \
		if [ -n "$$name" ]; then ln -sf "$${name##*/}" "$$to"; else install -m 644 "$$page" "$$to"; fi || exit 1; done
	install -m 644 build/completion/ramraid $(DESTDIR)$(BASHCOMPLETIONDIR)
	install -m 644 build/completion/_ramraid $(DESTDIR)$(ZSHCOMPLETIONDIR)
	sed -i 's|/etc/mdadm/mdadm\.conf\.d|$(CLAIMDIR)|g' $(DESTDIR)$(LIBDIR)/core/paths.sh $(DESTDIR)$(LIBDIR)/cmd/claim.sh $(DESTDIR)$(LIBDIR)/before-removal \
		$$(grep -rl /etc/mdadm/mdadm\.conf\.d $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(MANDIR)/man8)
	sed 's|/usr/sbin/ramraid|$(SBINDIR)/ramraid|' etc/kernel/postinst.d/zz-ramraid >$(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d/zz-ramraid
	chmod 755 $(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d/zz-ramraid
	install -D -m 644 etc/needrestart/conf.d/ramraid.conf $(DESTDIR)$(SYSCONFDIR)/needrestart/conf.d/ramraid.conf
	install -m 644 etc/example.conf $(DESTDIR)$(DOCDIR)/examples
	install -m 644 README.md $(DESTDIR)$(DOCDIR)
	install -m 644 docs/*.md docs/*.svg docs/*.json $(DESTDIR)$(DOCDIR)/docs
	install -m 644 docs/dev/*.md $(DESTDIR)$(DOCDIR)/docs/dev
	install -m 644 docs/diagrams/*.svg $(DESTDIR)$(DOCDIR)/docs/diagrams
	install -m 644 docs/screens/*.svg $(DESTDIR)$(DOCDIR)/docs/screens
	install -m 644 docs/performance/*.svg $(DESTDIR)$(DOCDIR)/docs/performance
	install -m 644 docs/monitoring/*.yml docs/monitoring/*.json $(DESTDIR)$(DOCDIR)/docs/monitoring
	install -m 644 docs/monitoring/examples/* $(DESTDIR)$(DOCDIR)/docs/monitoring/examples

deb: $(DEB)
# dpkg-buildpackage writes beside its source tree, so it gets a copy of the tree below build/.
$(DEB): $(shell find $(PACKAGED) -type f)
	rm -rf build/deb && mkdir -p build/deb/source
	cp -a $(PACKAGED) build/deb/source
	cd build/deb/source && dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary >../log 2>&1 || { cat ../log; exit 1; }
	cp build/deb/ramraid_$(VERSION)_all.deb build/deb/ramraid_$(VERSION)_*.changes build/

source:
	rm -rf build/source && mkdir -p build/source/ramraid-$(VERSION)
	cp -a $(SOURCES) build/source/ramraid-$(VERSION)
	cd build/source/ramraid-$(VERSION) && dpkg-buildpackage --unsigned-source --unsigned-changes --build=source >../log 2>&1 || { cat ../log; exit 1; }

dist:
	mkdir -p build
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$$(dpkg-parsechangelog -S Timestamp)" --mode=u=rwX,go=rX \
		--transform='s|^|ramraid-$(VERSION)/|' -c $(SOURCES) | gzip -9n >build/ramraid-$(VERSION).tar.gz

packaging: deb
	tests/packaging
reproducible: deb source
	tests/reproducible
piuparts: deb
	tests/piuparts
release:
	@tests/release

# The digest ties a picture to its source, so that "make lint" notices when only one of the two was
# updated.
DRAW = dot -Tsvg "$$dot" >"$${dot%.dot}.svg.new" && \
	sed -i "2i <!-- $${dot\#\#*/}: $$(sha256sum <"$$dot" | cut -c1-64) -->" "$${dot%.dot}.svg.new" && mv "$${dot%.dot}.svg.new" "$${dot%.dot}.svg"
diagrams:
	for dot in docs/diagrams/*.dot; do $(DRAW) || exit 1; done
map:
	perl tests/house.pl map >docs/diagrams/house.dot
	dot=docs/diagrams/house.dot; $(DRAW)

lint:
	tests/lint
unit:
	tests/unit/run
model:
	tests/model/run
model-short:
	tests/model/run --short
fuzz-worlds:
	tests/worlds/run
mutants:
	tests/mutants/run
vm: deb
	tests/vm/run $(CASE)
vm-all: deb
	CASE_SECONDS=3600 RELEASE='trixie bookworm forky' tests/vm/run
vm-shell: deb
	tests/vm/run --shell $(or $(CASE),reboot)
campaign: deb
	tests/vm/campaign
clients: deb
	LOAD=clients tests/vm/campaign
suites: deb
	tests/vm/suites
rounds: deb
	CASE_SECONDS=14400 tests/vm/run rounds
bench-rebuild: deb
	tests/vm/bench-rebuild
dashboard:
	tests/dashboard
screens: deb
	tests/vm/screens
bench: deb
	tests/vm/bench
bench-scale: deb
	tests/vm/bench-scale
bench-cost: deb
	tests/vm/run --show cost
bench-reads: deb
	tests/vm/bench-reads
bench-apps: deb
	tests/vm/bench-apps
bench-zram: deb
	tests/vm/bench-zram

tools:
	tests/tools
check: tools
	tests/check
demo: tools
	$(MAKE) --no-print-directory deb
	tests/vm/run --show demo

clean:
	rm -rf build

# make              what is built: the man pages
# make install      to DESTDIR and PREFIX; enables and starts nothing
# make deb          build/ramraid_VERSION_all.deb
# make model        the decision in every history of a model of md, about ten minutes; DEPTH=, LEGS=
# make campaign     power cuts without end: N=200 SEED=1 RELEASE=trixie JOBS=2
# make check        lint, unit tests, the model's short form, and the test bench of real virtual machines; installs its tools through apt
# make demo         the main job in a throw-away virtual machine
PREFIX ?= /usr
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib/ramraid
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/ramraid
SYSCONFDIR ?= /etc
UNITDIR ?= $(shell pkg-config --variable=systemdsystemunitdir systemd 2>/dev/null || echo $(PREFIX)/lib/systemd/system)
GENERATORDIR ?= $(shell pkg-config --variable=systemdsystemgeneratordir systemd 2>/dev/null || echo $(PREFIX)/lib/systemd/system-generators)
UDEVDIR ?= $(shell pkg-config --variable=udevdir udev 2>/dev/null || echo $(PREFIX)/lib/udev)
# mkinitramfs looks only in these two places.
HOOKDIR ?= $(if $(filter /usr,$(PREFIX)),/usr/share,$(SYSCONFDIR))/initramfs-tools/hooks

VERSION := $(shell cat lib/VERSION)
MANPAGES := build/man/ramraid.8 build/man/ramraid.conf.5
DEB := build/ramraid_$(VERSION)_all.deb
PACKAGED := $(shell find bin lib units udev etc initramfs man debian Makefile -type f)
export RELEASE CASE LEGS DEPTH N SEED JOBS CUTS

.PHONY: all install deb lint unit model model-short vm vm-all vm-shell campaign rounds bench-rebuild check demo bench tools clean
all: $(MANPAGES)

build/man/%: man/%.adoc lib/VERSION
	mkdir -p $(@D)
	asciidoctor --failure-level=WARN -b manpage -a version=$(VERSION) -a reproducible -o $@ $<

# Only the two programs know where the libraries lie.
install: all
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(LIBDIR)/cmd $(DESTDIR)$(UNITDIR) $(DESTDIR)$(GENERATORDIR) $(DESTDIR)$(UDEVDIR)/rules.d \
		$(DESTDIR)$(SYSCONFDIR)/ramraid $(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d $(DESTDIR)/var/lib/ramraid $(DESTDIR)$(HOOKDIR) $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man8 $(DESTDIR)$(DOCDIR)/examples
	sed 's|^readonly lib=.*|readonly lib=$(LIBDIR)|' bin/ramraid >$(DESTDIR)$(SBINDIR)/ramraid
	sed 's|^readonly lib=.*|readonly lib=$(LIBDIR)|' units/ramraid-generator >$(DESTDIR)$(GENERATORDIR)/ramraid-generator
	chmod 755 $(DESTDIR)$(SBINDIR)/ramraid $(DESTDIR)$(GENERATORDIR)/ramraid-generator
	install -m 644 lib/*.sh lib/VERSION $(DESTDIR)$(LIBDIR)
	install -m 644 lib/cmd/*.sh $(DESTDIR)$(LIBDIR)/cmd
	for unit in units/*.service units/*.path; do \
		sed 's|/usr/sbin/ramraid|$(SBINDIR)/ramraid|' "$$unit" >"$(DESTDIR)$(UNITDIR)/$${unit##*/}" && \
		chmod 644 "$(DESTDIR)$(UNITDIR)/$${unit##*/}" || exit 1; done
	for service in ramraid@ ramraid-monitor@ ramraid-remember; do \
		install -D -m 644 units/sandbox.conf "$(DESTDIR)$(UNITDIR)/$$service.service.d/50-sandbox.conf" || exit 1; done
	install -m 644 udev/65-ramraid.rules $(DESTDIR)$(UDEVDIR)/rules.d
	install -m 644 etc/ramraid/ramraid.conf $(DESTDIR)$(SYSCONFDIR)/ramraid
	install -m 755 initramfs/hook $(DESTDIR)$(HOOKDIR)/ramraid
	sed 's|/usr/sbin/ramraid|$(SBINDIR)/ramraid|' etc/kernel/postinst.d/zz-ramraid >$(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d/zz-ramraid
	chmod 755 $(DESTDIR)$(SYSCONFDIR)/kernel/postinst.d/zz-ramraid
	install -m 644 build/man/ramraid.8 $(DESTDIR)$(MANDIR)/man8
	install -m 644 build/man/ramraid.conf.5 $(DESTDIR)$(MANDIR)/man5
	install -m 644 etc/example.conf $(DESTDIR)$(DOCDIR)/examples

deb: $(DEB)
# dpkg-buildpackage writes beside its source tree, so that is a copy below build/.
$(DEB): $(PACKAGED)
	rm -rf build/deb && mkdir -p build/deb/source
	cp -a bin lib units udev etc initramfs man debian Makefile build/deb/source
	cd build/deb/source && dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary >../log 2>&1 || { cat ../log; exit 1; }
	cp build/deb/ramraid_$(VERSION)_all.deb build/deb/ramraid_$(VERSION)_*.changes build/

lint:
	tests/lint
unit:
	tests/unit/run
model:
	tests/model/run
model-short:
	tests/model/run --short
vm: deb
	tests/vm/run $(CASE)
vm-all: deb
	RELEASE='trixie bookworm' tests/vm/run
vm-shell: deb
	tests/vm/run --shell $(or $(CASE),reboot)
campaign: deb
	tests/vm/campaign
rounds: deb
	CASE_SECONDS=14400 tests/vm/run rounds
bench-rebuild: deb
	tests/vm/bench-rebuild
bench: deb
	tests/vm/run --show bench

tools:
	tests/tools
check: tools
	tests/check
demo: tools
	$(MAKE) --no-print-directory deb
	tests/vm/run --show demo

clean:
	rm -rf build

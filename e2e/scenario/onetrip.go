package scenario

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// oneTrip installs on a server of 600 packages that were frozen years ago,
// podman and runc among them, while its vendor offers newer builds of many:
// what dnf adds is what the bundle was proven to need, and nothing that was
// there changes.
func oneTrip(ctx context.Context, e *Env) error {
	vendor, err := e.frozen(ctx)
	if err != nil {
		return err
	}
	stick := filepath.Join(e.Work, "stick")
	return e.Bank(ctx, 1, func(l *lab.Lab) error {
		m := l.Machines[0]
		var before []string
		return e.inOrder([]part{
			{"a frozen server", func() (err error) {
				before, err = e.freeze(ctx, m, vendor)
				return err
			}},
			{"survey", func() error { return errors.Join(e.survey(ctx, l), e.smallSurvey(m)) }},
			{"survey by script", func() error { return e.surveyByScript(ctx, m) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, frozenVendor...) }},
			{"the program, from the stick", func() error { return e.begin(ctx, m, stick) }},
			{"preflight", func() error { return e.preflight(ctx, m) }},
			{"install", func() error { return e.installOnce(ctx, m) }},
			{"only what the bundle has is new", func() error { return e.onlyAdded(ctx, m, before, filepath.Join(stick, "bank")) }},
		})
	})
}

// frozenVendor edits airgap.yaml: one server, whose vendor is another one.
var frozenVendor = []string{
	"https://dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/", "https://mirror.stream.centos.org/9-stream/BaseOS/x86_64/os/",
	"https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9", "https://mirror.stream.centos.org/RPM-GPG-KEY-centosofficial",
	"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", "",
}

func (e *Env) frozen(ctx context.Context) (string, error) {
	repodata := os.Getenv("AIRGAP_REPODATA")
	if repodata == "" {
		return "", errors.New("AIRGAP_REPODATA is not set: a directory with baseos and appstream of CentOS Stream 9, their repodata at least")
	}
	return upstream.BuildFrozen(ctx, e.Cache, repodata, e.Log)
}

// freeze gives a server the rpm database of a frozen one, and the programs that
// the lab has of its packages. It returns what is installed.
func (e *Env) freeze(ctx context.Context, m lab.Machine, vendor string) ([]string, error) {
	if err := m.AttachStick(ctx, vendor); err != nil {
		return nil, err
	}
	const install = "rpm --install --force-debian --nodeps --noscripts --notriggers --replacefiles --replacepkgs "
	err := errors.Join(
		e.script(ctx, m,
			`rm -rf "$(rpm -E %_dbpath)"/* && rpm --initdb`,
			"rpm --import "+lab.StickPath+"/RPM-GPG-KEY",
			install+"--justdb "+lab.StickPath+"/installed/*.rpm",
			install+lab.StickPath+"/real/*.rpm"),
		m.PullStick(ctx))
	if err != nil {
		return nil, err
	}
	before, err := e.installedPackages(ctx, m)
	if err == nil && len(before) != 600 {
		err = fmt.Errorf("the frozen server has %d packages", len(before))
	}
	return before, err
}

// installedPackages are NEVRAs as a lock writes them, sorted; without the keys,
// which rpm keeps in the same place.
func (e *Env) installedPackages(ctx context.Context, m lab.Machine) ([]string, error) {
	text, err := lab.Output(ctx, m, "rpm", "-qa", "--qf", `%{NAME}-%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}.%{ARCH}\n`)
	all := slices.DeleteFunc(strings.Fields(text), func(p string) bool { return strings.HasPrefix(p, "gpg-pubkey-") })
	slices.Sort(all)
	return all, err
}

// smallSurvey wants facts that can leave a bank on paper if they must: the
// limit is 300 KB, packed.
func (e *Env) smallSurvey(m lab.Machine) error {
	text, err := os.ReadFile(filepath.Join(e.facts(), m.Name()+".facts.yaml"))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "facts of 600 packages: %d KB, packed %d KB\n", len(text)/1000, packed.Len()/1000)
	if packed.Len() > 300_000 {
		return fmt.Errorf("the facts have %d bytes packed", packed.Len())
	}
	return nil
}

// onlyAdded compares the packages before and after with the bundle's lock, and
// has rpm verify podman and runc.
func (e *Env) onlyAdded(ctx context.Context, m lab.Machine, before []string, bundle string) error {
	after, err := e.installedPackages(ctx, m)
	if err != nil {
		return err
	}
	want, err := e.lockedPackages(ctx, bundle)
	if err != nil {
		return err
	}
	want = append(slices.Clone(before), want...)
	for _, p := range after { // airgap.rpm came by rpm, before
		if strings.HasPrefix(p, "airgap-") {
			want = append(want, p)
		}
	}
	slices.Sort(want)
	if !slices.Equal(after, want) {
		return fmt.Errorf("installed are %d packages, want %d: too many are %v, missing %v", len(after), len(want), without(after, want), without(want, after))
	}
	fmt.Fprintf(e.Log, "%d packages were there and are as they were, %d came\n", len(before), len(after)-len(before))
	return e.script(ctx, m, "rpm -V podman runc", "runc | grep -q 'of the frozen server'", "podman | grep -q 'of the frozen server'")
}

// lockedPackages are the NEVRAs of a bundle's lock.
func (e *Env) lockedPackages(ctx context.Context, bundle string) ([]string, error) {
	r, err := e.Airgap(ctx, "inspect", bundle, "--list", "--output", "json")
	if err != nil {
		return nil, err
	}
	if err := r.want("airgap inspect", 0); err != nil {
		return nil, err
	}
	var held struct {
		Lock struct{ Packages []struct{ NEVRA string } }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &held); err != nil {
		return nil, err
	}
	var all []string
	for _, p := range held.Lock.Packages {
		all = append(all, p.NEVRA)
	}
	return all, nil
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// OneTrip installs on a server of 600 packages that were frozen years ago,
// podman and runc among them, while its vendor offers newer builds of many:
// what dnf adds is what the bundle was proven to need, and nothing that was
// there changes. A delta against the server's own receipt brings a package and
// an image more; a server that has not its base refuses it.
func OneTrip(ctx context.Context, e *Env) error {
	vendor, err := frozen(ctx, e)
	if err != nil {
		return err
	}
	stick, second := filepath.Join(e.Work, "stick"), filepath.Join(e.Work, "second")
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		m, other := l.Machines[0], l.Machines[1]
		var before []string
		var delta string
		return e.InOrder([]Part{
			{"a frozen server", func() (err error) {
				before, err = freeze(ctx, e, m, vendor)
				return err
			}},
			{"survey", func() error { return errors.Join(e.Survey(ctx, m), smallSurvey(e, m)) }},
			{"survey by script", func() error { return SurveyByScript(ctx, e, m) }},
			{"bundle", func() error {
				return e.MakeBundle(ctx, stick, append(frozenVendor, "    - quay.io/lab/tools:1.0\n", "")...)
			}},
			{"the program, from the stick", func() error { return e.Begin(ctx, m, stick) }},
			{"preflight", func() error { return Preflight(ctx, e, m) }},
			{"install", func() error { return e.InstallOnce(ctx, m) }},
			{"only what the bundle has is new", func() (err error) {
				before, err = onlyAdded(ctx, e, m, before, filepath.Join(stick, "bank"))
				return err
			}},
			{"survey of the second trip", func() error { return errors.Join(os.RemoveAll(e.Facts()), e.Survey(ctx, m)) }},
			{"a delta against its receipt", func() (err error) {
				delta, err = deltaFill(ctx, e, m, second)
				return err
			}},
			{"without its base it is refused", func() error { return baseless(ctx, e, other, second, delta) }},
			{"install of the delta", func() error { return installDelta(ctx, e, m, second, delta) }},
			{"only what the delta has is new", func() error {
				_, err := onlyAdded(ctx, e, m, before, filepath.Join(second, delta))
				return err
			}},
		})
	})
}

// frozenVendor edits airgap.yaml: one server, whose vendor is another one.
var frozenVendor = []string{
	"https://dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/", "https://mirror.stream.centos.org/9-stream/BaseOS/x86_64/os/",
	"https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9", "https://mirror.stream.centos.org/RPM-GPG-KEY-centosofficial",
	"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", "",
}

func frozen(ctx context.Context, e *Env) (string, error) {
	repodata := os.Getenv("AIRGAP_REPODATA")
	if repodata == "" {
		return "", errors.New("AIRGAP_REPODATA is not set: a directory with baseos and appstream of CentOS Stream 9, their repodata at least")
	}
	return upstream.BuildFrozen(ctx, e.Cache, repodata, e.Log)
}

// freeze gives a server the rpm database of a frozen one, and the programs that
// the lab has of its packages. It returns what is installed.
func freeze(ctx context.Context, e *Env, m lab.Machine, vendor string) ([]string, error) {
	if err := m.AttachStick(ctx, vendor); err != nil {
		return nil, err
	}
	const install = "rpm --install --force-debian --nodeps --noscripts --notriggers --replacefiles --replacepkgs "
	err := errors.Join(
		e.Script(ctx, m,
			`rm -rf "$(rpm -E %_dbpath)"/* && rpm --initdb`,
			"rpm --import "+lab.StickPath+"/RPM-GPG-KEY",
			install+"--justdb "+lab.StickPath+"/installed/*.rpm",
			install+lab.StickPath+"/real/*.rpm"),
		m.PullStick(ctx))
	if err != nil {
		return nil, err
	}
	before, err := installedPackages(ctx, m)
	if err == nil && len(before) != 600 {
		err = fmt.Errorf("the frozen server has %d packages", len(before))
	}
	return before, err
}

// installedPackages are NEVRAs as a lock writes them, sorted; without the keys,
// which rpm keeps in the same place.
func installedPackages(ctx context.Context, m lab.Machine) ([]string, error) {
	text, err := lab.Output(ctx, m, "rpm", "-qa", "--qf", `%{NAME}-%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}.%{ARCH}\n`)
	all := slices.DeleteFunc(strings.Fields(text), func(p string) bool { return strings.HasPrefix(p, "gpg-pubkey-") })
	slices.Sort(all)
	return all, err
}

// smallSurvey tells what the program's facts have.
func smallSurvey(e *Env, m lab.Machine) error {
	text, err := os.ReadFile(filepath.Join(e.Facts(), m.Name()+".facts.yaml"))
	if err != nil {
		return err
	}
	packed, err := packedSurvey(e, m, text)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "facts of 600 packages: %d KB, packed %d KB\n", len(text)/1000, len(packed)/1000)
	return nil
}

// onlyAdded compares the packages before and after with the bundle's lock, and
// has rpm verify podman and runc. It returns what is installed now.
func onlyAdded(ctx context.Context, e *Env, m lab.Machine, before []string, bundle string) ([]string, error) {
	after, err := installedPackages(ctx, m)
	if err != nil {
		return nil, err
	}
	want, err := lockedPackages(ctx, e, bundle)
	if err != nil {
		return nil, err
	}
	want = append(slices.Clone(before), want...)
	for _, p := range after { // airgap.rpm came by rpm, before
		if strings.HasPrefix(p, "airgap-") {
			want = append(want, p)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if !slices.Equal(after, want) {
		return nil, fmt.Errorf("installed are %d packages, want %d: too many are %v, missing %v", len(after), len(want), without(after, want), without(want, after))
	}
	fmt.Fprintf(e.Log, "%d packages were there and are as they were, %d came\n", len(before), len(after)-len(before))
	return after, e.Script(ctx, m, "rpm -V podman runc", "runc | grep -q 'of the frozen server'", "podman | grep -q 'of the frozen server'")
}

// lockedPackages are the NEVRAs of a bundle's lock.
func lockedPackages(ctx context.Context, e *Env, bundle string) ([]string, error) {
	r, err := e.Airgap(ctx, "inspect", bundle, "--list", "--output", "json")
	if err != nil {
		return nil, err
	}
	if err := r.Want("airgap inspect", 0); err != nil {
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

// delta makes a second stick: a package and an image more than the server has by
// its own receipt. It returns the bundle's name.
func deltaFill(ctx context.Context, e *Env, m lab.Machine, stick string) (string, error) {
	r, err := e.Must(ctx, m, nil, "airgap", "registry", "status", "--receipt", "/root/receipt")
	if err != nil {
		return "", err
	}
	authority := regexp.MustCompile(`--receipt-key (sha256:[0-9a-f]{64})`).FindStringSubmatch(r.Stdout)
	if authority == nil {
		return "", fmt.Errorf("airgap registry status --receipt names no authority: %s", r.Stdout)
	}
	receipt := filepath.Join(e.Work, "receipt")
	out, err := os.Create(receipt)
	if err != nil {
		return "", err
	}
	if err := errors.Join(lab.GetFile(ctx, m, "/root/receipt", out), out.Close()); err != nil {
		return "", err
	}
	config, err := e.Config("airgap.yaml", append(frozenVendor, "  os: el9\n", "  os: el9\n  install: [nfs-utils]\n")...)
	if err != nil {
		return "", err
	}
	bundle := []string{"bundle", "-f", config, "--facts", e.Facts(), "-o", stick, "--delta-from", receipt}
	if err := e.Do(ctx, 1, []string{"--receipt-key " + authority[1]}, bundle...); err != nil {
		return "", err // nobody has vouched for it
	}
	if err := e.Do(ctx, 0, []string{"delta:"}, append(bundle, "--receipt-key", authority[1])...); err != nil {
		return "", err
	}
	made, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(made) != 1 {
		return "", fmt.Errorf("on the second stick are %v, %w", made, err)
	}
	parts := func(dir string) int64 { return TreeSize(dir, "bundle.tar.*") }
	fmt.Fprintf(e.Log, "the delta has %d KB, the first bundle %d KB\n", parts(made[0])/1000, parts(filepath.Join(e.Work, "stick"))/1000)
	return filepath.Base(made[0]), nil
}

// PlugDelta does what INSTALL.txt of a delta says.
func PlugDelta(ctx context.Context, e *Env, m lab.Machine, stick, delta string) error {
	return errors.Join(m.AttachStick(ctx, stick), e.Script(ctx, m,
		"cd "+lab.StickPath+"/"+delta+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -U --oldpackage --replacepkgs airgap.rpm"))
}

func baseless(ctx context.Context, e *Env, m lab.Machine, stick, delta string) error {
	if err := PlugDelta(ctx, e, m, stick, delta); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "install", LabSkips, "--node", "node1", lab.StickPath+"/"+delta)
	if err != nil {
		return err
	}
	if err := r.Want("install of a delta without its base", 1, delta+" requires", "image ", "the files are in bundle bank"); err != nil {
		return err
	}
	return e.Script(ctx, m, "! test -e /var/lib/airgap/store", "! test -e /var/lib/airgap/journal.jsonl")
}

func installDelta(ctx context.Context, e *Env, m lab.Machine, stick, delta string) error {
	if err := errors.Join(m.PullStick(ctx), PlugDelta(ctx, e, m, stick, delta)); err != nil {
		return err
	}
	done, err := e.AirgapOn(ctx, m, "", "install", LabSkips, lab.StickPath+"/"+delta)
	if err == nil && done.Changed == 0 {
		err = fmt.Errorf("install says %+v", done)
	}
	if err != nil {
		return err
	}
	return e.Script(ctx, m, "rpm -q nfs-utils",
		Kubectl+`run tools --image=quay.io/lab/tools:1.0 --restart=Never --overrides='{"spec":{"nodeName":"node1"}}' -- sleep`,
		Kubectl+"wait --for=condition=Ready pod/tools --timeout=120s")
}

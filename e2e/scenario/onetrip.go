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

// OneTrip installs on a server with 600 packages that were frozen years ago, with podman and
// runc. The vendor has newer builds of many packages. dnf adds exactly the packages of the
// bundle's lock and changes no existing package. A delta against the server's receipt adds a
// package and an image. A server without the delta's base refuses it.
func OneTrip(ctx context.Context, e *Env) error {
	vendor, err := frozen(ctx, e)
	if err != nil {
		return err
	}
	stick, second := filepath.Join(e.Work, "stick"), filepath.Join(e.Work, "second")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
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
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, m, stick) }},
			{"preflight", func() error { return Preflight(ctx, e, m) }},
			{"install", func() error { return e.InstallOnce(ctx, m) }},
			{"only the bundle's packages are new", func() (err error) {
				before, err = onlyAdded(ctx, e, m, before, filepath.Join(stick, "bank"))
				return err
			}},
			{"survey of the second trip", func() error { return errors.Join(os.RemoveAll(e.Facts()), e.Survey(ctx, m)) }},
			{"a delta against its receipt", func() (err error) {
				delta, err = deltaFill(ctx, e, m, second)
				return err
			}},
			{"the delta is refused without its base", func() error { return refusedWithoutBase(ctx, e, other, second, delta) }},
			{"install of the delta", func() error { return installDelta(ctx, e, m, second, delta) }},
			{"only the delta's packages are new", func() error {
				_, err := onlyAdded(ctx, e, m, before, filepath.Join(second, delta))
				return err
			}},
		})
	})
}

// frozenVendor edits airgap.yaml: one server, with another vendor.
var frozenVendor = []string{
	"https://dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/", "https://mirror.stream.centos.org/9-stream/BaseOS/x86_64/os/",
	"https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9", "https://mirror.stream.centos.org/RPM-GPG-KEY-centosofficial",
	"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", "",
}

func frozen(ctx context.Context, e *Env) (string, error) {
	repodata := os.Getenv("AIRGAP_REPODATA")
	if repodata == "" {
		return "", errors.New("AIRGAP_REPODATA is not set: set it to a directory with baseos and appstream of CentOS Stream 9, at least with their repodata")
	}
	return upstream.BuildFrozen(ctx, e.Cache, repodata, e.Log)
}

// freeze installs the rpm database of a frozen server, and the programs that the lab has for
// its packages. It returns the installed packages.
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
		err = fmt.Errorf("the frozen server has %d packages, want 600", len(before))
	}
	return before, err
}

// installedPackages returns the NEVRAs in the format of a lock, sorted, without rpm's keys.
func installedPackages(ctx context.Context, m lab.Machine) ([]string, error) {
	text, err := lab.Output(ctx, m, "rpm", "-qa", "--qf", `%{NAME}-%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}.%{ARCH}\n`)
	all := slices.DeleteFunc(strings.Fields(text), func(p string) bool { return strings.HasPrefix(p, "gpg-pubkey-") })
	slices.Sort(all)
	return all, err
}

// smallSurvey checks and logs the size of the program's facts.
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

// onlyAdded checks that the new packages are those of the bundle's lock, and that rpm -V
// passes for podman and runc. It returns the installed packages.
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
	for _, p := range after { // airgap.rpm was installed with rpm before
		if strings.HasPrefix(p, "airgap-") {
			want = append(want, p)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if !slices.Equal(after, want) {
		return nil, fmt.Errorf("got %d installed packages, want %d: unexpected %v, missing %v", len(after), len(want), without(after, want), without(want, after))
	}
	fmt.Fprintf(e.Log, "%d packages are unchanged, %d are new\n", len(before), len(after)-len(before))
	return after, e.Script(ctx, m, "rpm -V podman runc", "runc | grep -q 'of the frozen server'", "podman | grep -q 'of the frozen server'")
}

// lockedPackages returns the NEVRAs of a bundle's lock.
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

// deltaFill makes a second stick with a delta: a package and an image that are not in the
// server's receipt. It returns the bundle's name.
func deltaFill(ctx context.Context, e *Env, m lab.Machine, stick string) (string, error) {
	r, err := e.Must(ctx, m, nil, "airgap", "registry", "status", "--receipt", "/root/receipt")
	if err != nil {
		return "", err
	}
	key := regexp.MustCompile(`--receipt-key (sha256:[0-9a-f]{64})`).FindStringSubmatch(r.Stdout)
	if key == nil {
		return "", fmt.Errorf("airgap registry status --receipt prints no --receipt-key: %s", r.Stdout)
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
	if err := e.Do(ctx, 1, []string{"--receipt-key " + key[1]}, bundle...); err != nil {
		return "", err // without --receipt-key, bundle refuses the receipt
	}
	if err := e.Do(ctx, 0, []string{"delta:"}, append(bundle, "--receipt-key", key[1])...); err != nil {
		return "", err
	}
	made, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(made) != 1 {
		return "", fmt.Errorf("second stick: got bundles %v, want one: %w", made, err)
	}
	parts := func(dir string) int64 { return TreeSize(dir, "bundle.tar.*") }
	fmt.Fprintf(e.Log, "size of the delta: %d KB, of the first bundle: %d KB\n", parts(made[0])/1000, parts(filepath.Join(e.Work, "stick"))/1000)
	return filepath.Base(made[0]), nil
}

// AttachDelta runs the first steps of a delta's INSTALL.txt.
func AttachDelta(ctx context.Context, e *Env, m lab.Machine, stick, delta string) error {
	return errors.Join(m.AttachStick(ctx, stick), e.Script(ctx, m,
		"cd "+lab.StickPath+"/"+delta+" && rpm --import RPM-GPG-KEY-airgap && rpm -K airgap.rpm | grep -q 'digests signatures OK' && rpm -U --oldpackage --replacepkgs airgap.rpm"))
}

func refusedWithoutBase(ctx context.Context, e *Env, m lab.Machine, stick, delta string) error {
	if err := AttachDelta(ctx, e, m, stick, delta); err != nil {
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
	if err := errors.Join(m.PullStick(ctx), AttachDelta(ctx, e, m, stick, delta)); err != nil {
		return err
	}
	done, err := e.AirgapOn(ctx, m, "", "install", LabSkips, lab.StickPath+"/"+delta)
	if err == nil && done.Changed == 0 {
		err = fmt.Errorf("install reports %+v", done)
	}
	if err != nil {
		return err
	}
	return e.Script(ctx, m, "rpm -q nfs-utils",
		Kubectl+`run tools --image=quay.io/lab/tools:1.0 --restart=Never --overrides='{"spec":{"nodeName":"node1"}}' -- sleep`,
		Kubectl+"wait --for=condition=Ready pod/tools --timeout=120s")
}

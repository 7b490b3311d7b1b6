// Package program is what airgap hands on of itself: airgap.rpm with its manual, the image of
// airgap-probe, the files of a release, and the keys that sign them.
package program

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// Package is airgap.rpm of a bundle: what a release's has, and the public halves of keys, which the
// RPM's signature vouches for. The same source and keys give the same bytes.
func Package(p Source, keys *Keys) (*rpm.Built, error) {
	key, err := bundle.MarshalPublicKey(&keys.Bundle.PublicKey)
	if err != nil {
		return nil, err
	}
	public, err := keys.RPM.Public()
	if err != nil {
		return nil, err
	}
	return packageOf(p, keys.RPM,
		rpm.File{Path: site.TrustDir + "/" + bundle.PublicKeyName, Data: key, Mode: 0o644},
		rpm.File{Path: site.RPMKeyFile, Data: public, Mode: 0o644})
}

// packageOf is the program, its helpers, its units, the registry's user, the
// directories, the manual and what shells complete by. The same programs and
// keys give the same bytes: its time is that of the program's commit.
func packageOf(p Source, signer *rpm.Key, more ...rpm.File) (*rpm.Built, error) {
	at, err := p.time()
	if err != nil {
		return nil, err
	}
	units, err := Units()
	if err != nil {
		return nil, err
	}
	docs, err := Documentation(p.Commands, at)
	if err != nil {
		return nil, err
	}
	spec := rpm.Spec{
		Name: "airgap", Version: rpmVersion(version.String()), Release: "1", Arch: "x86_64",
		License: "Apache-2.0", URL: "https://airgap.dev", Vendor: "airgap",
		Summary:     "Kubernetes onto servers that have never seen the internet",
		Description: packageText,
		Files: []rpm.File{
			{Path: site.InstalledProgram, Source: p.Airgap, Mode: 0o755},
			{Path: helpersDir, Mode: fs.ModeDir | 0o755},
			{Path: nvml.Helper, Source: p.NVML, Mode: 0o755},
			{Path: helpersDir + "/" + probeName, Source: p.Probe, Mode: 0o755},
			{Path: site.TrustDir, Mode: fs.ModeDir | 0o755},
			{Path: "/etc/airgap", Mode: fs.ModeDir | 0o755},
			{Path: site.StateDir, Mode: fs.ModeDir | 0o755},
			{Path: site.LogDir, Mode: fs.ModeDir | 0o755},
		},
		Requires:   []string{"systemd", "shadow-utils"},
		PreInstall: makeUser, PreRemove: stopUnits, PostInstall: reload, PostRemove: reload, PostTransaction: restartUnits,
		Time: at,
	}
	spec.Files = slices.Concat(spec.Files, docs, more)
	for name, text := range units {
		spec.Files = append(spec.Files, rpm.File{Path: "/usr/lib/systemd/system/" + name, Data: text, Mode: 0o644})
	}
	return rpm.Build(spec, signer)
}

const packageText = `airgap bundles all that a Kubernetes cluster with GPU nodes needs onto one
stick, where there is internet, and installs it from there on servers that
have none; it checks the servers before and watches the cluster afterwards.`

// Units are the texts of the systemd units of all packages, by their names.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{nodereport.UnitName: nodereport.UnitText()}
	for _, units := range []func() (map[string][]byte, error){joincode.Units, registry.Units, backup.Units, upkeep.Units, gpu.Units} {
		some, err := units()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// The scriptlets of airgap.rpm. The user airgap serves the registry and owns nothing but
// what is pushed to it; airgap-approver decides about join tokens and owns nothing.
const (
	makeUser = `getent group airgap >/dev/null || groupadd -r airgap
getent passwd airgap >/dev/null || useradd -r -g airgap -d /var/lib/airgap -s /sbin/nologin -c 'airgap registry' airgap
getent group airgap-approver >/dev/null || groupadd -r airgap-approver
getent passwd airgap-approver >/dev/null || useradd -r -g airgap-approver -d / -s /sbin/nologin -c 'airgap join approver' airgap-approver
`
	reload = `[ -d /run/systemd/system ] && systemctl daemon-reload || :
`
	// restartUnits has what runs run the new program; a unit that does not run is not started.
	restartUnits = `[ -d /run/systemd/system ] && systemctl try-restart ` + registry.UnitName + ` ` + nodereport.UnitName + ` ` + joincode.ApproverUnit + ` || :
`
	stopUnits = `[ "$1" -eq 0 ] && [ -d /run/systemd/system ] && systemctl disable --now ` + registry.UnitName + ` ` + nodereport.UnitName + ` ` + joincode.ApproverUnit + ` ` + backup.Timer + ` ` + upkeep.VerifyTimer + ` ` + upkeep.RenewTimer + ` ` + gpu.CDIUnit + ` ` + gpu.MIGUnit + ` ` + gpu.OwnPersistenceUnit + ` || :
`
)

// rpmVersion writes a version of ours as rpm takes it: without hyphens, and a
// candidate (1.2.0-rc.1) older than what it is one for.
func rpmVersion(v string) string {
	return strings.NewReplacer("-rc", "~rc", "-", "_", "(", "", ")", "").Replace(strings.TrimPrefix(v, "v"))
}

// Source is what airgap.rpm is made of.
type Source struct {
	Airgap, NVML, Probe string                // paths of the programs airgap, airgap-nvml and airgap-probe
	Commands            func() *cobra.Command // makes airgap's tree of commands, for manual and completions
}

const (
	helpersDir = "/usr/libexec/airgap" // nvml.Helper is there, too
	nvmlName   = "airgap-nvml"
	probeName  = "airgap-probe"
)

// time is when the program's commit was made; of a plain build, when it was built.
func (p Source) time() (time.Time, error) {
	at, err := version.CommitTime()
	if err != nil || !at.IsZero() {
		return at, err
	}
	info, err := os.Stat(p.Airgap)
	if err != nil {
		return at, fmt.Errorf("find this program: %w", err)
	}
	return info.ModTime().UTC(), nil
}

// Here is this program, with its tree of commands, and the helpers beside it. It is an error where a
// server could not run one of them: they have to be x86_64, and static but for airgap-nvml.
func Here(commands func() *cobra.Command) (Source, error) {
	program, err := staticProgram()
	if err != nil {
		return Source{}, err
	}
	p := Source{program, helperOf(program, nvmlName), helperOf(program, probeName), commands}
	return p, cmp.Or(checkHelper(p.NVML), checkProbe(p.Probe))
}

// helperOf is where airgap.rpm put the helper of a program, or beside the program: under
// its name, or as a release calls it, with the same end as the program's name.
func helperOf(program, helper string) string {
	if program == site.InstalledProgram {
		return helpersDir + "/" + helper
	}
	dir, name := filepath.Split(program)
	if end, is := strings.CutPrefix(name, "airgap"); is && site.Exists(dir+helper+end) {
		return dir + helper + end
	}
	return dir + helper
}

// checkHelper wants a helper that the servers can run: without this check the first
// server with cards would find out.
func checkHelper(file string) error {
	_, err := openHelper(file)
	return err
}

// checkProbe wants a static program besides, since its image has nothing else.
func checkProbe(file string) error {
	static, err := openHelper(file)
	if err == nil && !static {
		return advice.Add(fmt.Errorf("use the helper %s: it is not a static program", file), helperAdvice)
	}
	return err
}

const helperAdvice = "make build makes it; keep it beside airgap"

func openHelper(file string) (static bool, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return false, advice.Add(fmt.Errorf("use the helper %s: %w", filepath.Base(file), err), helperAdvice)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return false, advice.Add(fmt.Errorf("use the helper %s: it is for %s, the servers are x86_64", file, f.Machine), helperAdvice)
	}
	return !needsLibraries(f), nil
}

// staticProgram is this very program, when it can run on any server: a static
// x86_64 binary.
func staticProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	f, err := elf.Open(program)
	if err != nil {
		return "", advice.Add(fmt.Errorf("hand this program on: %w", err), "do it on a Linux host")
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || needsLibraries(f) {
		return "", advice.Add(errors.New("hand this program on: it is not a static x86_64 program"), "build it with make build (CGO_ENABLED=0)")
	}
	return program, nil
}

func needsLibraries(f *elf.File) bool {
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

// Package program makes the distributable files of airgap: airgap.rpm with its man
// pages, the image of airgap-probe, the files of a release, and the keys that sign
// them.
package program

import (
	"cmp"
	"crypto/ecdsa"
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
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// Package is the airgap.rpm of a bundle: the files of a release's package, and the
// public keys, protected by the signature of the RPM: of this builder, and of the builders
// whose public keys are in the directory of keys. The same source and keys give the same
// bytes.
func Package(p Source, keys *Keys) (*rpm.Built, error) {
	public, err := keys.RPM.Public()
	if err != nil {
		return nil, err
	}
	files := []rpm.File{{Path: site.RPMKeyFile, Data: public, Mode: 0o644}}
	named := map[string]bool{}
	for _, key := range append([]*ecdsa.PublicKey{keys.PublicKey()}, keys.others...) {
		name := bundle.PublicKeyFile(key)
		if named[name] {
			continue
		}
		named[name] = true
		text, err := bundle.MarshalPublicKey(key)
		if err != nil {
			return nil, err
		}
		files = append(files, rpm.File{Path: site.TrustDir + "/" + name, Data: text, Mode: 0o644})
	}
	return packageOf(p, keys.RPM, files...)
}

// packageOf contains the program, its helpers, its units, the user of the registry, the
// directories, the man pages and the shell completions. The same programs and keys give
// the same bytes: the time is the time of the program's commit.
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
		Summary:     "Kubernetes clusters on servers without internet access",
		Description: packageText,
		Files: []rpm.File{
			{Path: site.InstalledProgram, Source: p.Airgap, Mode: 0o755},
			{Path: helpersDir, Mode: fs.ModeDir | 0o755},
			{Path: nvml.Helper, Source: p.NVML, Mode: 0o755},
			{Path: helpersDir + "/" + probeName, Source: p.Probe, Mode: 0o755},
			{Path: site.TrustDir, Mode: fs.ModeDir | 0o755},
			{Path: "/etc/airgap", Mode: fs.ModeDir | 0o755},
			{Path: site.KeptKeysDir, Mode: fs.ModeDir | 0o755},
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

// Units are the texts of the systemd units of all packages, by name.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{nodereport.UnitName: nodereport.UnitText()}
	for _, units := range []func() (map[string][]byte, error){jointoken.Units, registry.Units, backup.Units, upkeep.Units, gpu.Units} {
		some, err := units()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// The scriptlets of airgap.rpm. The user airgap runs the registry and owns only the
// pushed images. airgap-approver approves join tokens and owns no file.
const (
	makeUser = `getent group airgap >/dev/null || groupadd -r airgap
getent passwd airgap >/dev/null || useradd -r -g airgap -d /var/lib/airgap -s /sbin/nologin -c 'airgap registry' airgap
getent group airgap-approver >/dev/null || groupadd -r airgap-approver
getent passwd airgap-approver >/dev/null || useradd -r -g airgap-approver -d / -s /sbin/nologin -c 'airgap join approver' airgap-approver
`
	reload = `[ -d /run/systemd/system ] && systemctl daemon-reload || :
`
	// restartUnits restarts the running units with the new program; it does not start
	// stopped units.
	restartUnits = `[ -d /run/systemd/system ] && systemctl try-restart ` + registry.UnitName + ` ` + nodereport.UnitName + ` ` + jointoken.ApproverUnit + ` || :
`
	stopUnits = `[ "$1" -eq 0 ] && [ -d /run/systemd/system ] && systemctl disable --now ` + registry.UnitName + ` ` + nodereport.UnitName + ` ` + jointoken.ApproverUnit + ` ` + backup.Timer + ` ` + upkeep.VerifyTimer + ` ` + upkeep.RenewTimer + ` ` + gpu.CDIUnit + ` ` + gpu.MIGUnit + ` ` + gpu.OwnPersistenceUnit + ` || :
`
)

// rpmVersion converts an airgap version to an RPM version: without hyphens, and a
// release candidate (1.2.0-rc.1) is older than its release.
func rpmVersion(v string) string {
	return strings.NewReplacer("-rc", "~rc", "-", "_", "(", "", ")", "").Replace(strings.TrimPrefix(v, "v"))
}

// Source has the inputs of airgap.rpm.
type Source struct {
	Airgap, NVML, Probe string                // paths of the programs airgap, airgap-nvml and airgap-probe
	Commands            func() *cobra.Command // makes airgap's command tree, for the man pages and completions
}

const (
	helpersDir = "/usr/libexec/airgap" // nvml.Helper is in it too
	nvmlName   = "airgap-nvml"
	probeName  = "airgap-probe"
)

// time is the time of the program's commit; of a build without version information, the
// build time.
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

// Here returns this program with its command tree and the helpers next to it. It fails
// if a server could not run one of them: they must be x86_64 and, except airgap-nvml,
// static.
func Here(commands func() *cobra.Command) (Source, error) {
	program, err := staticProgram()
	if err != nil {
		return Source{}, err
	}
	p := Source{program, helperOf(program, nvmlName), helperOf(program, probeName), commands}
	return p, cmp.Or(checkHelper(p.NVML), checkProbe(p.Probe))
}

// helperOf returns the path of a helper: the path in airgap.rpm, or a path next to the
// program. There the helper has its plain name or its name in a release, with the same
// ending as the program.
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

// checkHelper fails for a helper that the servers cannot run. Without this check, the
// error would appear on the first server with GPUs.
func checkHelper(file string) error {
	_, err := openHelper(file)
	return err
}

// checkProbe requires also a static program, because the image has no other files.
func checkProbe(file string) error {
	static, err := openHelper(file)
	if err == nil && !static {
		return advice.Add(fmt.Errorf("use the helper %s: it is not a static program", file), helperAdvice)
	}
	return err
}

const helperAdvice = "run make build, and keep the helper in the directory of airgap"

func openHelper(file string) (static bool, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return false, advice.Add(fmt.Errorf("use the helper %s: %w", filepath.Base(file), err), helperAdvice)
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return false, advice.Add(fmt.Errorf("use the helper %s: it is for %s, but the servers are x86_64", file, f.Machine), helperAdvice)
	}
	return !needsLibraries(f), nil
}

// staticProgram returns the running program if it can run on any server: a static
// x86_64 binary.
func staticProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	f, err := elf.Open(program)
	if err != nil {
		return "", advice.Add(fmt.Errorf("package this program: %w", err), "run the command on a Linux host")
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || needsLibraries(f) {
		return "", advice.Add(errors.New("package this program: it is not a static x86_64 program"), "build it with make build (CGO_ENABLED=0)")
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

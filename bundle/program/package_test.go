package program

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rpmversion "github.com/knqyf263/go-rpm-version"
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// someCommands is a command tree in place of airgap's.
func someCommands() *cobra.Command {
	root := &cobra.Command{Use: "airgap"}
	root.AddCommand(&cobra.Command{Use: "bundle", Run: func(*cobra.Command, []string) {}})
	return root
}

// writePrograms writes files in place of the programs.
func writePrograms(t *testing.T, dir string) Source {
	t.Helper()
	from := Source{filepath.Join(dir, "program"), filepath.Join(dir, "helper"), filepath.Join(dir, "probe"), someCommands}
	for _, file := range []string{from.Airgap, from.NVML, from.Probe} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return from
}

func programPackageBytes(t *testing.T, from Source, keys *Keys) []byte {
	t.Helper()
	pkg, err := Package(from, keys)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(pkg.Reader())
	if err != nil || int64(len(data)) != pkg.Size() {
		t.Fatalf("read %d of %d bytes: %v", len(data), pkg.Size(), err)
	}
	return data
}

// TestProgramPackage: rpm lists the files of airgap.rpm and verifies its signature.
func TestProgramPackage(t *testing.T) {
	bundletest.Need(t, "rpm")
	dir := t.TempDir()
	keys := newKeys(t, dir)
	from := writePrograms(t, dir)
	data := programPackageBytes(t, from, keys)
	file := filepath.Join(dir, "airgap.rpm")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	const format = "[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]"
	got := withoutManual(t, rpmSays(t, "-qp", "--nosignature", "--qf", format, file))
	want := `drwxr-xr-x root:root /etc/airgap
drwxr-xr-x root:root /etc/airgap/trusted-keys
drwxr-xr-x root:root /etc/pki/airgap
-rw-r--r-- root:root /etc/pki/airgap/` + bundle.PublicKeyFile(keys.PublicKey()) + `
-rw-r--r-- root:root /etc/pki/rpm-gpg/RPM-GPG-KEY-airgap
-rwxr-xr-x root:root /usr/bin/airgap
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-backup.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-backup.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-cdi.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-certs-renew.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-certs-renew.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-join-approver.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-mig.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-node-report.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-persistenced.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-verify.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-verify.timer
drwxr-xr-x root:root /usr/libexec/airgap
-rwxr-xr-x root:root /usr/libexec/airgap/airgap-nvml
-rwxr-xr-x root:root /usr/libexec/airgap/airgap-probe
drwxr-xr-x root:root /usr/share/bash-completion
drwxr-xr-x root:root /usr/share/bash-completion/completions
-rw-r--r-- root:root /usr/share/bash-completion/completions/airgap
drwxr-xr-x root:root /usr/share/fish
drwxr-xr-x root:root /usr/share/fish/vendor_completions.d
-rw-r--r-- root:root /usr/share/fish/vendor_completions.d/airgap.fish
drwxr-xr-x root:root /usr/share/licenses
drwxr-xr-x root:root /usr/share/licenses/airgap
-rw-r--r-- root:root /usr/share/licenses/airgap/LICENSE
-rw-r--r-- root:root /usr/share/licenses/airgap/THIRD-PARTY
drwxr-xr-x root:root /usr/share/zsh
drwxr-xr-x root:root /usr/share/zsh/site-functions
-rw-r--r-- root:root /usr/share/zsh/site-functions/_airgap
drwxr-xr-x root:root /var/lib/airgap
drwxr-xr-x root:root /var/log/airgap
`
	if got != want {
		t.Errorf("airgap.rpm contains\n%s, want\n%s", got, want)
	}
	db := filepath.Join(dir, "db")
	public, err := keys.RPM.Public()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, bundle.RPMKeyName), public, 0o644); err != nil {
		t.Fatal(err)
	}
	rpmSays(t, "--dbpath", db, "--import", filepath.Join(dir, bundle.RPMKeyName))
	if said := rpmSays(t, "--dbpath", db, "-K", file); !strings.Contains(said, "digests signatures OK") {
		t.Errorf("rpm -K printed %s", said)
	}
	const about = "%{NAME} %{ARCH} | %{LICENSE} | %{VENDOR} | %{URL} | %{BUILDHOST}\n"
	if got := rpmSays(t, "-qp", "--nosignature", "--qf", about, file); got != "airgap x86_64 | Apache-2.0 | airgap | https://airgap.dev | localhost\n" {
		t.Errorf("rpm printed for airgap.rpm: %s", got)
	}
	if got := rpmSays(t, "-qpL", "--nosignature", file); got != "/usr/share/licenses/airgap/LICENSE\n/usr/share/licenses/airgap/THIRD-PARTY\n" {
		t.Errorf("the licences are %s", got)
	}
}

// withoutManual removes the lines of the man pages, and checks that each command has
// one.
func withoutManual(t *testing.T, list string) string {
	t.Helper()
	var rest strings.Builder
	pages := map[string]bool{}
	for line := range strings.Lines(list) {
		if page, is := strings.CutPrefix(line, "-rw-r--r-- root:root /usr/share/man/man1/"); is {
			pages[strings.TrimSpace(page)] = true
		} else {
			rest.WriteString(line)
		}
	}
	for _, cmd := range Documented(someCommands()) {
		page := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1.gz"
		if !pages[page] {
			t.Errorf("airgap.rpm does not contain %s", page)
		}
		delete(pages, page)
	}
	if len(pages) > 0 {
		t.Errorf("pages without a command: %v", pages)
	}
	return rest.String()
}

// TestProgramPackageAgain: the same programs and keys give the same package, also for
// another user.
func TestProgramPackageAgain(t *testing.T) {
	dir := t.TempDir()
	keys := newKeys(t, dir)
	from := writePrograms(t, dir)
	once := programPackageBytes(t, from, keys)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "SOURCE_DATE_EPOCH", "USER"} {
		t.Setenv(name, "/1")
	}
	if again := programPackageBytes(t, from, keys); !bytes.Equal(once, again) {
		t.Error("another user's package has other bytes")
	}
}

// TestRPMVersion: for rpm, a release candidate is older than the release, and a later
// build is newer.
func TestRPMVersion(t *testing.T) {
	for v, want := range map[string]string{"v1.2.0-rc.1": "1.2.0~rc.1", "v1.2.0-3-g0123456789ab-dirty": "1.2.0_3_g0123456789ab_dirty", "(devel)": "devel"} {
		if got := rpmVersion(v); got != want {
			t.Errorf("RPM version of %s is %s, want %s", v, got, want)
		}
	}
	var order []string
	for _, v := range []string{"v1.2.0-rc.1", "v1.2.0-rc.2", "v1.2.0", "v1.2.0-3-g0123456789ab", "v1.2.1"} {
		order = append(order, rpmVersion(v))
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return rpmversion.NewVersion(a).Compare(rpmversion.NewVersion(b)) }) {
		t.Errorf("rpm does not sort as %v", order)
	}
}

// TestHelperOf: the helper is next to the program, with its name from make build or
// from a release.
func TestHelperOf(t *testing.T) {
	dir := t.TempDir() + "/"
	if got := helperOf(dir+"airgap-1.0-linux-amd64", nvmlName); got != dir+"airgap-nvml" {
		t.Errorf("without a helper: %s", got)
	}
	released := dir + "airgap-nvml-1.0-linux-amd64"
	if err := os.WriteFile(released, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{
		dir + "airgap-1.0-linux-amd64": released, dir + "airgap": dir + "airgap-nvml", dir + "other": dir + "airgap-nvml", site.InstalledProgram: "/usr/libexec/airgap/airgap-nvml",
	} {
		if got := helperOf(program, nvmlName); got != want {
			t.Errorf("the helper of %s is %s, want %s", program, got, want)
		}
	}
}

// TestCheckHelper: airgap.rpm gets no helper that the servers cannot run.
func TestCheckHelper(t *testing.T) {
	script, foreign := filepath.Join(t.TempDir(), "script"), filepath.Join(t.TempDir(), "foreign")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	program[18] = byte(elf.EM_AARCH64) // e_machine, little-endian
	for file, text := range map[string][]byte{script: []byte("#!/bin/sh\nexec nvidia-smi --query\n"), foreign: program} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{own: "", script: "bad magic number", foreign: "it is for EM_AARCH64", script + ".none": "no such file"} {
		err := checkHelper(file)
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(advice.Of(err), "make build") {
			t.Errorf("%s gives %v, want %q", file, err, want)
		}
	}
}

// TestCheckProbe: an image of a program with library dependencies would not start. The
// test program is such a program if cgo is enabled.
func TestCheckProbe(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	wants := needsLibraries(program)
	if err := checkProbe(own); wants && (err == nil || !strings.Contains(err.Error(), "not a static program")) || !wants && err != nil {
		t.Errorf("needs libraries: %t; %v", wants, err)
	}
	if err := checkProbe(own + ".none"); err == nil || !strings.Contains(advice.Of(err), "make build") {
		t.Errorf("without a probe: %v", err)
	}
}

func newKeys(t *testing.T, dir string) *Keys {
	t.Helper()
	keys, err := CheckKeys(t.Context(), KeyOptions{Dir: dir, New: true})
	if err == nil {
		err = keys.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func rpmSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("rpm", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("rpm %v: %v: %s", args, err, out)
	}
	return string(out)
}

// TestUpdateRestartsServices: the package has the scriptlet, and it restarts running
// units if systemd runs. Without systemd, or if that fails, the transaction continues.
func TestUpdateRestartsServices(t *testing.T) {
	bundletest.Need(t, "rpm")
	dir := t.TempDir()
	file := filepath.Join(dir, "airgap.rpm")
	if err := os.WriteFile(file, programPackageBytes(t, writePrograms(t, dir), newKeys(t, dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	script := rpmSays(t, "-qp", "--nosignature", "--qf", "%{POSTTRANS}", file)
	running, said := filepath.Join(dir, "systemd"), filepath.Join(dir, "said")
	fake := "#!/bin/sh\necho \"$@\" >>" + said + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, with := range []bool{false, true} {
		if with {
			if err := os.Mkdir(running, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-ec", strings.ReplaceAll(script, "/run/systemd/system", running), "posttrans", "1")
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with systemd %v: %v\n%s", with, err, out)
		}
		if got, _ := os.ReadFile(said); (string(got) == "try-restart airgap-registry.service airgap-node-report.service airgap-join-approver.service\n") != with {
			t.Errorf("with systemd %v it ran systemctl %s", with, got)
		}
	}
}

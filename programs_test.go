package airgap_test

import (
	"errors"
	"os/exec"
	"testing"
)

// TestProgramsStartInOnePlace: only package host starts programs, because cmd/airgap sets PATH for
// its commands, and package host keeps secrets out of their environment. cmd/licenses runs on the
// host of a release. A credential helper of Docker runs on the connected host and needs the variables of its user, such
// as those of a cloud account.
func TestProgramsStartInOnePlace(t *testing.T) {
	out, err := exec.Command("grep", "-rnE", `\b(exec\.(Command|CommandContext|LookPath)|os\.StartProcess|syscall\.(Exec|ForkExec|StartProcess)|unix\.Exec)\(`, "--include=*.go",
		"--exclude=*_test.go", "--exclude-dir=bundletest", "--exclude-dir=rpmtest", "--exclude-dir=nvmltest", "--exclude-dir=apitest", "--exclude-dir=uitest", "--exclude-dir=sshtest",
		"--exclude-dir=licenses", "--exclude-dir=host", "--exclude-dir=loginfile",
		"bundle", "registry", "preflight", "kubeadm", "cni", "gpu", "manifests", "verify", "upkeep", "cluster", "internal", "cmd").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return // nothing found
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("start programs with host.Host:\n%s", out)
}

package airgap_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestConnectedHost: docs/gates.md promises that the connected host is any Linux host with x86_64,
// also WSL or a container, because the program is one static file. The test builds it, and runs it
// in an empty root file system with an empty environment.
func TestConnectedHost(t *testing.T) {
	for page, sentence := range map[string]string{
		"docs/gates.md":    "The connected host is a Linux host with x86_64. WSL 2 and a container are enough: the program is one static file",
		"docs/ko/gates.md": "인터넷 연결 호스트는 x86_64 Linux입니다. WSL 2나 컨테이너도 됩니다. 프로그램은 정적 파일 하나",
	} {
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), sentence) {
			t.Errorf("%s: want the sentence %q (%v)", page, sentence, err)
		}
	}
	root := t.TempDir()
	program := filepath.Join(root, "airgap")
	build := exec.Command("go", "build", "-o", program, "./cmd/airgap")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != elf.EM_X86_64 {
		t.Errorf("the program is for %s", file.Machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a dynamic linker, which an empty container does not have")
		}
	}
	run := exec.Command("/airgap", "bundle", "--matrix")
	run.Dir, run.Env = "/", []string{}
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() != 0 {
		run.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		run.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := run.CombinedOutput()
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skipf("this host allows no user namespace: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "Kubernetes") {
		t.Errorf("airgap bundle --matrix in an empty root: %v\n%s", err, out)
	}
}

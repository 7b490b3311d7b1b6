package apitest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// process is a program that its starter ends.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

func start(t testing.TB, log, program string, args ...string) *process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// Also when the test binary itself is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // ended by us, or its log says why
	}()
	return p
}

// end kills the program: it has nothing to lose, and a lost server should
// look like one.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

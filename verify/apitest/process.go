package apitest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// process is a running program.
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
	// The program also ends if the test binary is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // ended by end, or its log has the reason
	}()
	return p
}

// end kills the program: its data is not needed, and to clients it looks like a lost server.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

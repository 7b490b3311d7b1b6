package apitest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that ends with the test.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
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
	t.Cleanup(p.end)
	return p
}

// end asks the program to stop, and kills it 2 s later.
func (p *process) end() {
	p.once.Do(func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
	select {
	case <-p.exited:
	case <-time.After(2 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

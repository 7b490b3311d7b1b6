package apitest

import (
	"os"
	"os/exec"
	"runtime"
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
	// The program also ends if the test binary is killed. The kernel kills it when the thread ends that started it,
	// so this thread waits.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := cmd.Start()
		if started <- err; err == nil {
			_ = cmd.Wait() // ended by end, or its log has the reason
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return p
}

// end kills the program: its data is not needed, and to clients it looks like a lost server.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

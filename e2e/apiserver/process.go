package apiserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// process is a running program. The caller of start must call end.
type process struct {
	cmd    *exec.Cmd
	log    string // path
	exited chan struct{}
}

// start runs a program and appends its output to a log file.
func start(log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...) // without a context: end kills it
	cmd.Stdout, cmd.Stderr = out, out
	// Kill the program also when the measurement itself is killed. The kernel kills it when the thread ends that
	// started it, so this thread waits.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, log: log, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := cmd.Start()
		if started <- err; err == nil {
			_ = cmd.Wait() // killed by end, or its log has the error
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%w: run make lab, which builds it", err)
	}
	return p, nil
}

// until calls ready until it succeeds, at most for startLimit. The error has the end of the log.
func (p *process) until(ctx context.Context, ready func() error) error {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		last := ready()
		if last == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-p.exited:
		case <-limited.Done():
		}
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("start %s: %w\n%s", filepath.Base(p.cmd.Path), last, text[max(0, len(text)-2000):])
	}
}

// end kills the program, since no measurement needs its data.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have exited already
	<-p.exited
}

package apiserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a program that its starter ends.
type process struct {
	cmd    *exec.Cmd
	log    string // path
	exited chan struct{}
}

// start runs a program with its output in a log.
func start(log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...) // end ends it, which its starter defers
	cmd.Stdout, cmd.Stderr = out, out
	// Also when the measurement itself is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: make lab builds it", err)
	}
	p := &process{cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // ended by us, or its log says why
	}()
	return p, nil
}

// until asks again and again, up to startLimit. The error has the end of the log.
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
		said, _ := os.ReadFile(p.log)
		return fmt.Errorf("start %s: %w\n%s", filepath.Base(p.cmd.Path), last, said[max(0, len(said)-2000):])
	}
}

// end kills the program: it has nothing to lose.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have gone already
	<-p.exited
}

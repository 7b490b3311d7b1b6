package detach

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// request is a command that the unit starts.
type request struct {
	Args        []string
	Dir         string
	Environment []string
	Terminal    [3]bool // whether standard input, output and error are the terminal
	Size        size
}

const (
	outputPart = 32 << 10
	drainTime  = time.Second // for the output, after the end: another process may still have the terminal open
)

// process is the running command.
type process struct {
	cmd     *exec.Cmd
	pty     *os.File
	input   io.WriteCloser // nil: the terminal is the input
	outputs []*os.File     // of which the unit reads
	pumps   sync.WaitGroup
}

// startProcess runs the program with a pseudo-terminal. It passes on the output with the kind of its frames.
func startProcess(program string, r *request, output func(kind byte, data []byte)) (*process, error) {
	if _, err := os.Stat(r.Dir); err != nil { // exec blames the program
		return nil, fmt.Errorf("start the command in its directory: %w", err)
	}
	pty, terminal, err := openPty(r.Size)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	p := &process{cmd: exec.Command(program, r.Args...), pty: pty}
	p.cmd.Dir, p.cmd.Env = r.Dir, r.Environment
	err = p.start(r, terminal, output)
	if err != nil {
		p.close()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

func (p *process) start(r *request, terminal *os.File, output func(kind byte, data []byte)) (err error) {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.Terminal[0] {
		p.cmd.Stdin = terminal
	} else if p.input, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	readers := map[byte]*os.File{ttyFrame: p.pty}
	var ends []*os.File // of the command; it has its own after the start
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()
	for i, kind := range []byte{stdoutFrame, stderrFrame} {
		to := terminal
		if !r.Terminal[i+1] {
			from, end, err := os.Pipe()
			if err != nil {
				return err
			}
			readers[kind], to, ends = from, end, append(ends, end)
			p.outputs = append(p.outputs, from)
		}
		if i == 0 {
			p.cmd.Stdout = to
		} else {
			p.cmd.Stderr = to
		}
	}
	for i, is := range r.Terminal {
		if is { // the first stream that is the terminal makes it the controlling one
			p.cmd.SysProcAttr.Setctty, p.cmd.SysProcAttr.Ctty = true, i
			break
		}
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for kind, f := range readers {
		p.pumps.Go(func() { pump(f, kind, output) })
	}
	return nil
}

func pump(f *os.File, kind byte, output func(kind byte, data []byte)) {
	part := make([]byte, outputPart)
	for {
		n, err := f.Read(part)
		if n > 0 {
			output(kind, part[:n])
		}
		if err != nil { // EIO: no process has the terminal open
			return
		}
	}
}

// wait returns the exit code after the last output.
func (p *process) wait() int {
	err := p.cmd.Wait()
	drained := make(chan struct{})
	go func() { p.pumps.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(drainTime):
	}
	p.close()
	<-drained
	return exitCode(err)
}

func (p *process) close() {
	p.pty.Close()
	for _, f := range p.outputs {
		f.Close()
	}
}

// exitCode is that of a shell: 128 and the signal that ended the process.
func exitCode(err error) int {
	exit, is := errors.AsType[*exec.ExitError](err)
	if !is {
		if err != nil {
			return 1
		}
		return 0
	}
	if status, is := exit.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// take passes on a frame of a client. Errors mean that the command has ended, or closed its input.
func (p *process) take(f frame) {
	switch f.kind {
	case keysFrame:
		_, _ = p.pty.Write(f.data)
	case inputFrame:
		if p.input != nil {
			_, _ = p.input.Write(f.data)
		}
	case eofFrame:
		if p.input != nil {
			_ = p.input.Close()
		}
	case cancelFrame:
		_ = p.cmd.Process.Signal(os.Interrupt)
	case sizeFrame:
		var now size
		if f.decode(&now) == nil {
			p.resize(now)
		}
	}
}

func (p *process) resize(now size) {
	_ = control(p.pty, func(fd int) error { return setSize(fd, now) })
}

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Interactive is a program that a user can be at, in a pseudo-terminal of its own.
type Interactive struct {
	Program  string
	Args     []string
	Dir      string
	Env      []string // all of it: the program is airgap itself, for the user
	Terminal [3]bool  // whether standard input, output and error are the terminal; otherwise they are pipes
	Size     Size
}

// Size is that of a terminal.
type Size struct {
	Rows, Columns uint16
}

// Output is where output of an interactive program comes from.
type Output int

// Outputs.
const (
	OfTerminal Output = iota
	OfStdout          // when it is not the terminal
	OfStderr
)

const (
	outputPart = 32 << 10
	drainTime  = 2 * time.Second // for the output, after the end: another process may still have the terminal open
)

// Process is a running interactive program.
type Process struct {
	cmd     *exec.Cmd
	pty     *os.File
	input   io.WriteCloser // nil: the terminal is the input
	outputs []*os.File     // from which it is read
	pumps   sync.WaitGroup
}

// Start starts the program. output gets all of its output until Wait returns, from several goroutines, and must not keep
// data.
func (i Interactive) Start(output func(from Output, data []byte)) (*Process, error) {
	if _, err := os.Stat(i.Dir); err != nil { // exec blames the program
		return nil, fmt.Errorf("start the command in its directory: %w", err)
	}
	pty, terminal, err := openPty(i.Size)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	p := &Process{cmd: exec.CommandContext(context.Background(), i.Program, i.Args...), pty: pty}
	p.cmd.Dir, p.cmd.Env = i.Dir, i.Env
	err = p.start(i.Terminal, terminal, output)
	if err != nil {
		p.close()
		return nil, fmt.Errorf("start %s: %w", i.Program, err)
	}
	return p, nil
}

func (p *Process) start(at [3]bool, terminal *os.File, output func(from Output, data []byte)) (err error) {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if at[0] {
		p.cmd.Stdin = terminal
	} else if p.input, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	readers := map[Output]*os.File{OfTerminal: p.pty}
	var ends []*os.File // of the command; it has its own after the start
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()
	for i, from := range []Output{OfStdout, OfStderr} {
		to := terminal
		if !at[i+1] {
			reader, end, err := os.Pipe()
			if err != nil {
				return err
			}
			readers[from], to, ends = reader, end, append(ends, end)
			p.outputs = append(p.outputs, reader)
		}
		if i == 0 {
			p.cmd.Stdout = to
		} else {
			p.cmd.Stderr = to
		}
	}
	for i, is := range at {
		if is { // the first stream that is the terminal makes it the controlling one
			p.cmd.SysProcAttr.Setctty, p.cmd.SysProcAttr.Ctty = true, i
			break
		}
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for from, f := range readers {
		p.pumps.Go(func() { pump(f, from, output) })
	}
	return nil
}

func pump(f *os.File, from Output, output func(from Output, data []byte)) {
	part := make([]byte, outputPart)
	for {
		n, err := f.Read(part)
		if n > 0 {
			output(from, part[:n])
		}
		if err != nil { // EIO: no process has the terminal open
			return
		}
	}
}

// Wait returns the exit code after the last output.
func (p *Process) Wait() int {
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

func (p *Process) close() {
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

// Type writes keys to the terminal. An error of this and the following methods means that the program has ended, or closed
// its input; Wait reports the end.
func (p *Process) Type(keys []byte) { _, _ = p.pty.Write(keys) }

// Input writes to the standard input, if it is not the terminal.
func (p *Process) Input(data []byte) {
	if p.input != nil {
		_, _ = p.input.Write(data)
	}
}

// EndInput closes that input.
func (p *Process) EndInput() {
	if p.input != nil {
		_ = p.input.Close()
	}
}

// Signal sends a signal to the program.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Resize changes the size of the terminal.
func (p *Process) Resize(now Size) {
	_ = control(p.pty, func(fd int) error { return setSize(fd, now) })
}

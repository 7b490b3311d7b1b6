package detach

import (
	"os"

	"airgap.dev/airgap/internal/host"
)

// request is a command that the unit starts.
type request struct {
	Args        []string
	Dir         string
	Environment []string
	Terminal    [3]bool // whether standard input, output and error are the terminal
	Size        host.Size
	Run         string // number of a run without a terminal
	Input       []byte // its whole standard input
}

const outputPart = 32 << 10

// run starts the command of a request with a pseudo-terminal.
func (u *unit) run(r *request) (*host.Process, error) {
	command := host.Interactive{Program: u.program, Args: r.Args, Dir: r.Dir, Env: r.Environment, Terminal: r.Terminal, Size: r.Size}
	kinds := map[host.Output]byte{host.OfTerminal: ttyFrame, host.OfStdout: stdoutFrame, host.OfStderr: stderrFrame}
	p, err := command.Start(func(from host.Output, data []byte) { u.output(kinds[from], data) })
	if err == nil && r.Run != "" {
		p.Input(r.Input) // at most maxInput, so it does not wait for the command
		p.EndInput()
	}
	return p, err
}

// take passes on a frame of a client.
func take(p *host.Process, f frame) {
	switch f.kind {
	case keysFrame:
		p.Type(f.data)
	case inputFrame:
		p.Input(f.data)
	case eofFrame:
		p.EndInput()
	case cancelFrame:
		p.Signal(os.Interrupt)
	case sizeFrame:
		var now host.Size
		if f.decode(&now) == nil {
			p.Resize(now)
		}
	}
}

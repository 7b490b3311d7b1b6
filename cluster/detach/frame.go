package detach

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Kinds of frames. Both sides are airgap as root, perhaps of two versions: a side ignores an unknown kind.
const (
	// of the client
	startFrame  = 's' // a request: run it
	attachFrame = 'a' // a size: show the run
	dropFrame   = 'd' // end the unit, if its command has ended
	keysFrame   = 'k' // typed at a terminal
	inputFrame  = 'i' // from a standard input that is not a terminal
	eofFrame    = 'f' // the end of that input
	sizeFrame   = 'w' // a size
	cancelFrame = 'c' // SIGINT
	seenFrame   = 'q' // the exit was shown

	// of the unit
	stateFrame  = 'h' // a state: the first frame
	ttyFrame    = 't' // output to the terminal
	stdoutFrame = 'o' // output to a standard output that is not a terminal
	stderrFrame = 'e'
	placeFrame  = 'p' // a place: before the output so far
	exitFrame   = 'x' // the exit code: the last frame
)

const maxFrame = 1 << 20 // for the arguments and the environment; output comes in parts of 32 KiB

type frame struct {
	kind byte
	data []byte
}

func (f frame) write(w io.Writer) error {
	if len(f.data) > maxFrame {
		return fmt.Errorf("write %d bytes: at most %d", len(f.data), maxFrame)
	}
	head := binary.BigEndian.AppendUint32([]byte{f.kind}, uint32(len(f.data)))
	_, err := w.Write(append(head, f.data...))
	return err
}

func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxFrame {
		return frame{}, fmt.Errorf("read %d bytes: at most %d", size, maxFrame)
	}
	f := frame{head[0], make([]byte, size)}
	_, err := io.ReadFull(r, f.data)
	return f, err
}

// encoded is a frame with v as JSON.
func encoded(kind byte, v any) (frame, error) {
	data, err := json.Marshal(v)
	return frame{kind, data}, err
}

func (f frame) decode(v any) error {
	if err := json.Unmarshal(f.data, v); err != nil {
		return fmt.Errorf("read frame %q: %w", f.kind, err)
	}
	return nil
}

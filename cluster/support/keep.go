package support

import (
	"bytes"
	"errors"
	"sync"
)

// keeper keeps up to room bytes of the text that is written to it: the beginning, or the end.
type keeper struct {
	room int
	end  bool

	mu     sync.Mutex
	text   []byte
	left   int64 // bytes that were written and dropped
	closed bool
}

var errTooLate = errors.New("the part is already closed")

func (k *keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return 0, errTooLate
	}
	if !k.end {
		fits := min(len(p), k.room-len(k.text))
		k.text = append(k.text, p[:fits]...)
		k.left += int64(len(p) - fits)
		return len(p), nil
	}
	k.text = append(k.text, p...)
	if over := len(k.text) - k.room; over > k.room { // not for each line, because it copies the text
		k.drop(over)
	}
	return len(p), nil
}

// drop removes the first n bytes.
func (k *keeper) drop(n int) {
	k.left += int64(n)
	k.text = k.text[:copy(k.text, k.text[n:])]
}

// close returns the kept text and the number of dropped bytes. A shortened end begins with a complete line. Later
// writes return errTooLate.
func (k *keeper) close() (text []byte, left int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if over := len(k.text) - k.room; k.end && over > 0 {
		k.drop(over)
	}
	if k.left > 0 && k.end {
		k.drop(bytes.IndexByte(k.text, '\n') + 1)
	}
	return k.text, k.left
}

// shorten cuts the text to half of its size.
func (k *keeper) shorten() {
	k.room = len(k.text) / 2
	if k.end {
		k.drop(len(k.text) - k.room)
		k.drop(bytes.IndexByte(k.text, '\n') + 1)
		return
	}
	k.left += int64(len(k.text) - k.room)
	k.text = k.text[:k.room]
}

package detach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Causes of a context that end airgap on this host alone. They cancel no command on another host. Each of them is also
// context.Canceled, so a command that returns the cause of its context is interrupted as by Ctrl-C.
var (
	ErrHangUp     error = signalError("the terminal was closed")
	ErrTerminated error = signalError("airgap got SIGTERM, as in a shutdown of this host")
)

type signalError string

func (e signalError) Error() string { return string(e) }

func (signalError) Unwrap() error { return context.Canceled }

// OthersGoOn reports whether the long commands on other hosts go on after a context ended for this cause: the next run, or
// an operator on another host, follows them. Only Ctrl-C is a request to end them.
func OthersGoOn(cause error) bool {
	loss, is := errors.AsType[interface {
		error
		OthersGoOn() bool
	}](cause)
	return errors.Is(cause, ErrHangUp) || errors.Is(cause, ErrTerminated) || is && loss.OthersGoOn()
}

// OrderVariable has an Order in the environment of a long command that airgap starts on another host. An airgap that
// does not know it runs the command in the session.
const OrderVariable = "AIRGAP_RUN"

// Order has the command run in a unit, without a terminal.
type Order struct {
	Run   string // a random number; a client with the same number gets the same run
	Input int    // bytes of standard input: a lost connection also looks like its end
}

// maxInput is less than a pipe holds.
const maxInput = 16 << 10

// Variable is the assignment for the environment.
func (o Order) Variable() string { return fmt.Sprintf("%s=%s:%d", OrderVariable, o.Run, o.Input) }

func parseOrder(value string) (Order, error) {
	run, size, found := strings.Cut(value, ":")
	n, err := strconv.Atoi(size)
	if !found || err != nil || run == "" || n < 0 || n > maxInput {
		return Order{}, fmt.Errorf("%s=%s: expected RUN:BYTES, with at most %d bytes", OrderVariable, value, maxInput)
	}
	return Order{run, n}, nil
}

// Notice is a line of standard error before the output of a run.
type Notice struct {
	Event string    `json:"event"` // noticeEvent
	For   string    `json:"for"`   // the run of the client's order
	Run   string    `json:"run"`   // the run that is shown: an earlier client may have started it
	Name  string    `json:"name"`  // of the command
	Unit  string    `json:"unit"`
	Since time.Time `json:"since"`
	From  int64     `json:"from"`            // bytes of its standard error that the unit no longer has
	Other bool      `json:"other,omitempty"` // another command, which the ordered one follows
}

const noticeEvent = "unit"

// ParseNotice reads a line for the client of a run. Other lines are output of the command.
func ParseNotice(line []byte, run string) (Notice, bool) {
	var n Notice
	is := json.Unmarshal(line, &n) == nil && n.Event == noticeEvent && n.For == run && n.From >= 0
	return n, is
}

// Key identifies a run.
func (n Notice) Key() string { return n.Run + n.Since.UTC().Format(time.RFC3339Nano) }

// place is where the output begins for a client.
type place struct {
	Since time.Time // of the run
	Err   int64     // bytes of standard error that are gone
}

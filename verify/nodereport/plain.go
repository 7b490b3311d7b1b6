package nodereport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// plain removes from a request's error the local port, which differs each time: otherwise each
// attempt would look like a new error.
func plain(err error) error {
	asked, isRequest := errors.AsType[*url.Error](err)
	if isRequest {
		err = asked.Err
	}
	timeout, isNet := errors.AsType[net.Error](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		err = errors.New("no answer")
	case isOp:
		err = op.Err
	}
	if !isRequest {
		return err
	}
	if at, parseErr := url.Parse(asked.URL); parseErr == nil {
		return fmt.Errorf("%s: %w", at.Host, err)
	}
	return err
}

package remote

import (
	"context"
	"errors"
)

// UnansweredError says that a host got a password and neither accepted nor refused it: it ended the connection, did not
// answer in time, asked another question, or reported a lock. The password may count there as a wrong one.
type UnansweredError struct {
	Err    error
	Locked bool // the host says that the account is locked
}

func (e *UnansweredError) Error() string { return e.Err.Error() }

func (e *UnansweredError) Unwrap() error { return e.Err }

// judged marks the error of a login in which the host got the password, unless it answered.
func (a *attempt) judged(err error) error {
	if _, answered := errors.AsType[*PasswordError](err); !a.given || answered {
		return err
	}
	demand, demands := errors.AsType[*DemandError](err)
	if demands && demand.wants == newSecret { // so the password is right
		return err
	}
	return &UnansweredError{err, demands && demand.wants == lockedOut}
}

// late is the error of a login that was not over in time.
func (a *attempt) late(ctx context.Context, err error) error {
	if a.given {
		return &EndedError{Host: a.host, Said: a.said.String(), Err: context.Cause(ctx), late: true}
	}
	return unreachable(ctx, a.host, err)
}

// judgedSudo is judged for the error of sudo, which got the password.
func judgedSudo(err error) error {
	no, is := errors.AsType[*SudoError](err)
	switch {
	case err == nil, is && no.wants != lockedOut && no.wants != oneTime:
		return err
	}
	return &UnansweredError{err, is && no.wants == lockedOut}
}

// Package validity judges when a certificate may be used: it has a beginning as well as an end
// (RFC 5280, section 4.1.2.5), and a clock that was ahead moves both.
package validity

import (
	"crypto/x509"
	"fmt"
	"time"
)

// Span is from when to when a certificate is valid. A zero Begins is not known, and in the past.
type Span struct{ Begins, Ends time.Time }

// Of is the span of a certificate.
func Of(c *x509.Certificate) Span { return Span{c.NotBefore, c.NotAfter} }

// Early reports whether the span has yet to begin.
func (s Span) Early(now time.Time) bool { return s.Begins.After(now) }

// Left is how long the certificate can be used from now on; 0 or less: not at all.
func (s Span) Left(now time.Time) time.Duration {
	if s.Early(now) {
		return 0
	}
	return s.Ends.Sub(now)
}

// Trouble says why a certificate cannot be used now, or not for as long as margin; "" when it
// can. It goes on a sentence that begins with the certificate.
func (s Span) Trouble(now time.Time, margin time.Duration) string {
	at := s.Ends.UTC().Format(time.RFC3339)
	switch left := s.Ends.Sub(now); {
	case s.Early(now):
		return "is valid only from " + s.Begins.UTC().Format(time.RFC3339) + ": the clock was ahead when it was made, or is behind now"
	case left <= 0:
		return "ended " + at
	case left < margin:
		return fmt.Sprintf("ends in %d days, %s", int(left.Hours()/24), at)
	}
	return ""
}

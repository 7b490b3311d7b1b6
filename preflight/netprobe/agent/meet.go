package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"airgap.dev/airgap/preflight/netprobe"
)

// Join connects to the host that waits at address, HOST:PORT, and measures according to its plan.
func Join(ctx context.Context, address string, token netprobe.Token) error {
	config, err := token.Identity()
	if err != nil {
		return err
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: netprobe.HandshakeTimeout}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if unknown := (&tls.CertificateVerificationError{}); errors.As(err, &unknown) {
		return fmt.Errorf("connect to %s: another program answers, or the code is wrong", address)
	}
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err = Serve(ctx, conn, conn)
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("measure with %s: it closed the connection; check that the code is the one that it shows", address)
	}
	return err
}

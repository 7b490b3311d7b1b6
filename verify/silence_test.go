package verify

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestSilenceFix: an expired certificate of the API server or of the client needs another fix than
// an API server that is down.
func TestSilenceFix(t *testing.T) {
	for name, tc := range map[string]struct {
		reason error
		want   string
	}{
		"its certificate has expired":        {fmt.Errorf("list nodes: %w", x509.CertificateInvalidError{Reason: x509.Expired}), "airgap certs renew"},
		"the client certificate has expired": {apierrors.NewUnauthorized("Unauthorized"), "airgap certs renew"},
		"it is down":                         {errors.New("connection refused"), "journalctl -u kubelet"},
	} {
		if got := silenceFix(tc.reason); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

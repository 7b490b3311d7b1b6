package registry

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// keyPair is the server's certificate and key, reloaded from their files when these change. A renewed
// certificate is served from the next handshake on, without a restart.
type keyPair struct {
	certificate, key string // files
	log              *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	written time.Time // modification time of the loaded certificate file
}

func loadKeyPair(certificate, key string, log *slog.Logger) (*keyPair, error) {
	p := &keyPair{certificate: certificate, key: key, log: log}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("load registry certificate: %w", err)
	}
	return p, nil
}

func (p *keyPair) load() error {
	info, err := os.Stat(p.certificate)
	if err != nil || p.loaded != nil && info.ModTime().Equal(p.written) {
		return err
	}
	pair, err := tls.LoadX509KeyPair(p.certificate, p.key)
	if err != nil {
		return err
	}
	p.loaded, p.written = &pair, info.ModTime()
	return nil
}

// expiry returns when the served certificate expires.
func (p *keyPair) expiry() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded.Leaf.NotAfter
}

// forHandshake implements tls.Config.GetCertificate. While the files do not match, as between two
// writes, it returns the last valid pair.
func (p *keyPair) forHandshake(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		p.log.Warn("load renewed certificate: the registry still uses the previous one", "error", err)
	}
	return p.loaded, nil
}

package registry

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// keyPair is the server's certificate as its files have it now: a renewed one
// is served from the next handshake on, without a restart.
type keyPair struct {
	certificate, key string // files
	log              *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	written time.Time // the certificate file that was loaded
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

// ends is when the certificate that is being served does.
func (p *keyPair) ends() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loaded.Leaf.NotAfter
}

// forHandshake is tls.Config.GetCertificate. While the files do not fit
// together, as between two writes, the last pair that did goes on.
func (p *keyPair) forHandshake(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		p.log.Warn("the registry goes on with its last certificate", "error", err)
	}
	return p.loaded, nil
}

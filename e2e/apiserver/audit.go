package apiserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// auditPolicy logs what Audited has done, once it is done.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - {level: Metadata, users: [` + Audited + `]}
  - {level: None}
`

func writeAuditPolicy(dir string) error {
	return os.WriteFile(filepath.Join(dir, "audit.yaml"), []byte(auditPolicy), 0o600)
}

// Request is one that Audited has sent.
type Request struct {
	Verb     string    `json:"verb"`
	URI      string    `json:"requestURI"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// Requests are those of Audited that were received between two times and have
// been answered. A watch is answered when it ends.
func (s *Server) Requests(from, to time.Time) ([]Request, error) {
	f, err := os.Open(filepath.Join(s.dir, "audit.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []Request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if r.Received.After(from) && r.Received.Before(to) {
			found = append(found, r)
		}
	}
	return found, lines.Err()
}

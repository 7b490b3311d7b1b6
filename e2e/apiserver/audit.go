package apiserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// auditPolicy logs each request of Audited when it is complete.
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

// Request is a request of the user Audited.
type Request struct {
	Verb     string    `json:"verb"`
	URI      string    `json:"requestURI"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// Requests returns the completed requests of Audited that the server received between two
// times. A watch is complete when it ends.
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

package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Manager has systemd's defaults for services.
type Manager struct {
	OpenFiles int64 `yaml:"openFiles,omitempty" json:"openFiles,omitempty"` // the hard DefaultLimitNOFILE; -1 for no limit
	// Proxy are the proxy variables of the environment, without passwords.
	Proxy map[string]string `yaml:"proxy,omitempty" json:"proxy,omitempty"`
}

func readManager(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "systemctl", "show", "--property=DefaultLimitNOFILE,Environment")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "DefaultLimitNOFILE":
			if value == "infinity" {
				f.Manager.OpenFiles = -1
			} else if f.Manager.OpenFiles, err = strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("parse systemd's DefaultLimitNOFILE: %w", err)
			}
		case "Environment":
			for variable := range strings.FieldsSeq(value) {
				f.Manager.addProxy(variable)
			}
		}
	}
	return nil
}

func (m *Manager) addProxy(variable string) {
	name, value, _ := strings.Cut(strings.Trim(variable, `"'`), "=")
	if !IsProxy(name) {
		return
	}
	if m.Proxy == nil {
		m.Proxy = map[string]string{}
	}
	m.Proxy[name] = proxyWithoutPassword(value)
}

// OpenFileLimit is the limit of open files as text: "1048576", "unlimited".
func (m Manager) OpenFileLimit() string {
	switch m.OpenFiles {
	case -1:
		return "unlimited"
	case 0:
		return "an unknown number of"
	default:
		return strconv.FormatInt(m.OpenFiles, 10)
	}
}

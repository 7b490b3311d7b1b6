package facts

import "context"

// Security has the hardening settings that restrict programs.
type Security struct {
	SELinux string `yaml:"selinux" json:"selinux"` // "enforcing", "permissive" or "disabled"
	FIPS    bool   `yaml:"fips" json:"fips"`
}

func readSecurity(_ context.Context, r reader, f *Facts) error {
	enforce, err := r.optional("sys/fs/selinux/enforce")
	if err != nil {
		return err
	}
	f.Security.SELinux = map[string]string{"": "disabled", "0": "permissive", "1": "enforcing"}[enforce]
	fips, err := r.optional("proc/sys/crypto/fips_enabled")
	f.Security.FIPS = fips == "1"
	return err
}

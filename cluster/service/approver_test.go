package service

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestApproverCredentialFollowsNoLink: the approver's user gets its certificate. A link that this user has
// created at the same path is replaced, not followed.
func TestApproverCredentialFollowsNoLink(t *testing.T) {
	const user = 65534
	for _, trap := range []string{approverConf, host.Draft(approverConf)} {
		dir, shadow := t.TempDir(), filepath.Join(t.TempDir(), "shadow")
		if err := errors.Join(os.WriteFile(shadow, []byte("root"), 0o600), os.Symlink(shadow, filepath.Join(dir, trap))); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Lchown(dir, user, user); err != nil {
				t.Fatal(err)
			}
		}
		if err := giveCredential(dir, []byte("certificate")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(shadow)
		if err != nil || string(text) != "root" {
			t.Errorf("%s: the target of the link is %q, %v", trap, text, err)
		}
		info, err := os.Lstat(filepath.Join(dir, approverConf))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", trap, info.Mode(), err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; os.Geteuid() == 0 && owner != user {
			t.Errorf("%s: the owner of the certificate is user %d", trap, owner)
		}
	}
	if err := giveCredential(filepath.Join(t.TempDir(), "gone"), nil); err == nil {
		t.Error("no error for a missing directory")
	}
}

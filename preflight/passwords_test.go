package preflight

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/facts"
)

func TestPasswords(t *testing.T) {
	// Day 20770 is 2026-11-13.
	now := time.Date(2026, 11, 13, 23, 0, 0, 0, time.UTC)
	shadow := func(text string) *facts.Facts {
		f := gatherFiles(t, map[string]string{
			"etc/shadow": text, "proc/self/loginuid": "1001\n", "etc/passwd": "root:x:0:0::/root:/bin/bash\nops:x:1001:1001::/home/ops:/bin/sh\nguest:x:1002:1002::/:/bin/sh\n",
		})
		f.Unknown, f.Time.Now = nil, now // the recording has no programs
		return f
	}
	const root, fine = "root:$6$hash:20000:0:99999:7:::\n", "ops:$6$hash:20000:0:99999:7:::\n"
	byRoot := gatherFiles(t, map[string]string{"etc/shadow": "root:!!:19000:0:90:7:::\n", "proc/self/loginuid": "0\n", "etc/passwd": "root:x:0:0::/root:/bin/bash\n"})
	byRoot.Unknown, byRoot.Time.Now = nil, now
	denied := shadow(root)
	denied.Unknown = []facts.Unknown{{Fact: "accounts", Reason: "open etc/shadow: permission denied"}}
	runChecks(t, []checkTest{
		{"no ages", passwords, shadow(root + fine), Want{}, Pass, "root, ops: no date within 14 days"},
		{"empty fields", passwords, shadow("root:$6$hash:::::::\n" + "ops:$6$hash:20000:::7:::\n"), Want{}, Pass, "no date"},
		{"expired yesterday", passwords, shadow(root + "ops:$6$hash:20679:0:90:7:30::\n"), Want{}, Warn, "the password of ops (/etc/shadow:2) has expired on 2026-11-12"},
		{"its last day", passwords, shadow(root + "ops:$6$hash:20680:0:90:7:::\n"), Want{}, Warn, "expires on 2026-11-13"},
		{"soon", passwords, shadow("root:$6$hash:20423:0:360:7:::\n" + fine), Want{}, Warn, "the password of root (/etc/shadow:1) expires on 2026-11-26"},
		{"not soon", passwords, shadow(root + "ops:$6$hash:20424:0:360:7:::\n"), Want{}, Pass, "no date"},
		{"at the next login", passwords, shadow(root + "ops:$6$hash:0:0:99999:7:::\n"), Want{}, Warn, "must be changed at the next login"},
		{"no longer after one day", passwords, shadow(root + "ops:$6$hash:20700:0:0:7:::\n"), Want{}, Warn, "has expired on 2026-09-04"},
		{"the account", passwords, shadow(root + "ops:$6$hash:20424:0:99999:7::20770:\n"), Want{}, Warn, "the account ops (/etc/shadow:2) has expired on 2026-11-13"},
		{"the account, soon", passwords, shadow(root + "ops:$6$hash:20424:0:99999:7::20771:\n"), Want{}, Warn, "the account ops (/etc/shadow:2) expires on 2026-11-14"},
		{"locked root", passwords, shadow("root:!!:19000:0:90:7:::\n" + fine), Want{}, Pass, "the password of root (/etc/shadow:1) has expired on 2022-04-08, but has no password"},
		{"locked after it was set", passwords, shadow("root:!$6$hash:19000:0:90:7::1:\n" + fine), Want{}, Pass, "no password to log in with"},
		{"a key alone", passwords, shadow(root + "ops:*:19000:0:90:7:::\n"), Want{}, Warn, "has expired on 2022-04-08; no password is set, but PAM applies the date to SSH keys"},
		{"locked by the site", passwords, shadow(root + "ops:!$6$hash:19000:0:90:7:::\n"), Want{}, Warn, "no password is set"},
		{"a key alone, the account", passwords, shadow(root + "ops:!!:20424:0:99999:7::20770:\n"), Want{}, Warn, "the account ops (/etc/shadow:2) has expired"},
		{"a key alone, no ages", passwords, shadow(root + "ops:!!:19000:0:99999:7:::\n"), Want{}, Pass, "no date"},
		{"without a password", passwords, shadow(root + "ops::0:0:90:7:::\n"), Want{}, Warn, "must be changed at the next login; no password is set"},
		{"root with a key", passwords, byRoot, Want{}, Warn, "the password of root (/etc/shadow:1) has expired on 2022-04-08; no password is set"},
		{"another user", passwords, shadow(root + fine + "guest:$6$hash:0:0:1:7:::\n"), Want{}, Pass, "root, ops: no date"},
		{"a user of a domain", passwords, shadow(root), Want{}, Pass, "root: no date"},
		{"a second line", passwords, shadow(root + fine + "ops:$6$hash:0:0:1:7:::\n"), Want{}, Pass, "no date"},
		{"an odd line", passwords, shadow(root + "ops:$6$hash:yesterday:0:90:7:::\n"), Want{}, Warn, "/etc/shadow:2: the line of ops has wrong dates"},
		{"a short line", passwords, shadow("root:$6$hash\n" + fine), Want{}, Warn, "/etc/shadow:1"},
		{"an older survey", passwords, &facts.Facts{Surveyed: []string{"now"}}, Want{}, Skip, "older airgap, without accounts"},
		{"users of a directory only", passwords, &facts.Facts{Surveyed: facts.Names()}, Want{}, Skip, "no line of root"},
		{"not root", passwords, denied, Want{}, Error, "permission denied"},
	})
	var survey bytes.Buffer
	require.NoError(t, shadow(root+"ops:$6$hash:0:0:1:7:::\n").Write(&survey))
	assert.NotContains(t, survey.String(), "hash", "the survey has no hash")
	assert.NotContains(t, survey.String(), "guest", "the survey has no other users")
}

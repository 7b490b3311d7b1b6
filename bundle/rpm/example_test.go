package rpm_test

import (
	"bytes"
	"fmt"
	"time"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/nevra"
)

func Example() {
	made := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	key, err := rpm.NewKey(made)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	err = rpm.BuildPackage(&file, rpm.Spec{
		Name: "hello", Version: "1.0", Release: "1", Arch: "x86_64", Summary: "Says hello", License: "Apache-2.0", Time: made,
		Files: []rpm.File{{Path: "/usr/bin/hello", Data: []byte("#!/bin/sh\necho hello\n"), Mode: 0o755}},
	}, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	name, err := nevra.Parse("hello-0:1.0-1.x86_64")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(name.FileName(), rpm.VerifyPackage(&file, name, key.Keyring()))
	// Output: hello-1.0-1.x86_64.rpm <nil>
}

package bundle_test

import (
	"fmt"
	"io"
	"os"

	"airgap.dev/airgap/bundle"
)

func ExampleFullName() {
	name, err := bundle.FullName("nginx:1.27")
	fmt.Println(name, err)
	// Output: docker.io/library/nginx:1.27 <nil>
}

// Every returned byte was checked against the signed index.
func ExampleOpen() {
	key, err := bundle.LoadPublicKey("/etc/airgap/airgap.pub")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := bundle.Open("/mnt/stick/demo", key)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	for _, image := range b.Index().Lock.Images {
		fmt.Println(image.Name, image.Digest)
	}
	manifest, err := b.File(bundle.BlobPath(b.Index().Lock.Images[0].Digest))
	if err != nil {
		fmt.Println(err)
		return
	}
	io.Copy(os.Stdout, manifest.Reader())
}

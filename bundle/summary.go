package bundle

// Summary has the totals of the lock. For a delta it also counts the files in its base.
type Summary struct {
	Size                    int64 // size of all parts, bytes
	Images, Packages, Files Amount
	Base                    Amount // files that a delta omits
	Addons                  Amount // objects and charts, also of the pod network
}

// Amount is a number of items and their size; blobs that several images share count once.
type Amount struct {
	Count int
	Bytes int64
}

// Summary adds up the items in the index.
func (x *Index) Summary() Summary {
	s := Summary{
		Images:   Amount{Count: len(x.Lock.Images)},
		Packages: Amount{Count: len(x.Lock.Packages)},
		Files:    Amount{Count: len(x.Lock.Files)},
		Base:     Amount{Count: len(x.Base.files()), Bytes: x.Base.Bytes()},
		Addons:   Amount{Count: len(x.Lock.Applied())},
	}
	for _, p := range x.Parts {
		s.Size += p.Size
	}
	for _, f := range x.held() {
		switch kindOf(f.Path) {
		case "images":
			s.Images.Bytes += f.Size
		case "packages":
			s.Packages.Bytes += f.Size
		case "files":
			s.Files.Bytes += f.Size
		case chartsDir, manifestsDir, networkDir:
			s.Addons.Bytes += f.Size
		}
	}
	return s
}

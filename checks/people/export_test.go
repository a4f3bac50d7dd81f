package people

var (
	Verify        = verify
	CheckPassword = checkPassword
)

package rheostat.jvm

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{DelegateToFileSystem, FileStatus, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** Hadoop's local files, but without a process for each: it forks `chmod` for every file that it creates, and up to four
  * `readlink` for every one that it renames, as Spark does with each file of a checkpoint.
  */
class ForklessRawFileSystem extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit =
    if (permission.getStickyBit) super.setPermission(path, permission)
    else Files.setPosixFilePermissions(
      pathToFile(path).toPath, PosixFilePermissions.fromString(permission.toString))

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}

/** For `fs.file.impl`. State stores cast the local file system to this class, so it must extend it. */
class ForklessFileSystem extends LocalFileSystem(new ForklessRawFileSystem)

/** For `fs.AbstractFileSystem.file.impl`. Without checksum files, which Spark's logs switch off anyway. */
class ForklessFs(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new ForklessRawFileSystem, conf, "file", false) {
  override def getUriDefaultPort: Int = -1
  override def isValidName(name: String): Boolean = true
}

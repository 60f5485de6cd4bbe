// SPDX-License-Identifier: Apache-2.0
// A Tomcat whose connector (NIO) has an executor: "Tomcat10 FOLDER PORT". /report holds
// a monitor that all other requests need.
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.logging.LogManager;
import org.apache.catalina.core.StandardThreadExecutor;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.AbstractProtocol;

public class Tomcat10 {
	static final Object stock = new Object();

	static void writeReport() {
		synchronized (stock) {
			try {
				Thread.sleep(200);
			} catch (InterruptedException e) {
				throw new IllegalStateException(e);
			}
		}
	}

	static void takeOrder() {
		synchronized (stock) {
		}
	}

	static class Orders extends HttpServlet {
		@Override
		protected void doGet(HttpServletRequest request, HttpServletResponse response)
			throws IOException {
			if (request.getRequestURI().startsWith("/report"))
				writeReport();
			else
				takeOrder();
			response.setContentLength(request.getRequestURI().length());
			response.getOutputStream().write(request.getRequestURI().getBytes());
		}
	}

	public static void main(String[] arguments) throws Exception {
		Tomcat tomcat = new Tomcat();
		StandardThreadExecutor executor = new StandardThreadExecutor();

		LogManager.getLogManager().reset();
		tomcat.setBaseDir(arguments[0]);
		tomcat.setPort(Integer.parseInt(arguments[1]));
		executor.setName("orders");
		executor.setNamePrefix("orders-");
		executor.setMinSpareThreads(16);
		executor.setMaxThreads(16);
		tomcat.getService().addExecutor(executor);
		tomcat.getConnector().setProperty("address", "127.0.0.1");
		tomcat.getConnector().setProperty("acceptCount", "1024");
		tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
		((AbstractProtocol<?>) tomcat.getConnector().getProtocolHandler()).setExecutor(executor);
		var context = tomcat.addContext("", null);
		Tomcat.addServlet(context, "orders", new Orders());
		context.addServletMappingDecoded("/*", "orders");
		tomcat.start();
		System.out.println("ready");
		tomcat.getServer().await();
	}
}
